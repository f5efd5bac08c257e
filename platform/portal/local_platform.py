"""Which children a local platform has: their commands, environments and probes. Starts nothing.

`DATABASE_URL`, `REDIS_URL` and `GANGLINE_RAY_ADDRESS`, where they are set, name servers that run elsewhere;
the child of our own is then left out.
"""

import asyncio
import os
import random
import shutil
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg

from portal import commands, embedded_postgres, embedded_redis
from portal.children import Child, Command, Probe
from portal.data_folder import Secrets, folder, write_private
from portal.env import read_env
from portal.probe import process_lives, web_answers
from ray_runtime.local import temp_dir_for

RAY_READY_LINE = "Ray runtime started"
HEAD_ADDRESS = "127.0.0.2"
# Two racks of two nodes with four slots: small enough for a laptop, enough to see gangs and racks.
NODES = (("n1", "rack-a"), ("n2", "rack-a"), ("n3", "rack-b"), ("n4", "rack-b"))
FIRST_NODE_ADDRESS = 3  # 127.0.0.3 and up
SLOTS_PER_NODE = "4"
RAY_TRIES = 3  # Ray gives a node 30 s to register, which a busy machine may not keep
CPUS_PER_NODE = "8"
PORTS = range(20000, 32000)  # below the range that outgoing connections are given

MakeChild = Callable[..., Child]
Build = Callable[[], Command]
PassedOn = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asked for."""

    data_dir: Path
    port: int
    seed: str | None
    json_ready: Path | None
    quiet: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """Addresses of the servers; a port of None means that the server is not ours."""

    database_url: str
    redis_url: str
    ray_address: str
    postgres_port: int | None
    redis_port: int | None
    own_ray: bool


class PortTakenError(Exception):
    """Somebody else listens where the portal is to listen."""


def choose_servers(environ: Mapping[str, str], secrets: Secrets) -> Servers:
    """Outside servers where the environment names them, else ours on free ports."""
    postgres_port = None if environ.get("DATABASE_URL") else free_port()
    redis_port = None if environ.get("REDIS_URL") else free_port()
    return Servers(
        database_url=environ.get("DATABASE_URL")
        or embedded_postgres.url(secrets.postgres_password, port=postgres_port or 0),
        redis_url=environ.get("REDIS_URL")
        or embedded_redis.url(secrets.redis_password, port=redis_port or 0),
        ray_address=environ.get("GANGLINE_RAY_ADDRESS") or f"{HEAD_ADDRESS}:{free_port(HEAD_ADDRESS)}",
        postgres_port=postgres_port,
        redis_port=redis_port,
        own_ray=not environ.get("GANGLINE_RAY_ADDRESS"),
    )


def free_port(address: str = "127.0.0.1") -> int:
    """A port that nobody listens on now."""
    for port in random.sample(PORTS, 200):
        with socket.socket() as probe:
            try:
                probe.bind((address, port))
            except OSError:
                continue
            return port
    raise PortTakenError(f"no free port between {PORTS.start} and {PORTS.stop}")


def check_port(port: int) -> None:
    """Refuse a port that is taken, in words that help."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise PortTakenError(
                f"Port {port} on 127.0.0.1 cannot be used ({error.strerror}):"
                " stop what listens there, or choose another with --port."
            ) from None


def portal_environ(
    environ: PassedOn, *, options: Options, secrets: Secrets, servers: Servers
) -> dict[str, str]:
    """The environment of portal and Celery; `EnvError` when a setting in it is wrong."""
    made = {
        "DATABASE_URL": servers.database_url,
        "REDIS_URL": servers.redis_url,
        "GANGLINE_SECRET_KEY": environ.get("GANGLINE_SECRET_KEY") or secrets.secret_key,
        "GANGLINE_CONDUCTOR_TOKEN": environ.get("GANGLINE_CONDUCTOR_TOKEN") or secrets.conductor_token,
        "GANGLINE_DATA_DIR": str(options.data_dir),
        "GANGLINE_PORT": str(options.port),
        "GANGLINE_PUBLIC_URL": environ.get("GANGLINE_PUBLIC_URL") or f"http://127.0.0.1:{options.port}",
        "GANGLINE_RAY_ADDRESS": servers.ray_address,
        "PYTHONPATH": commands.SOURCE_PATH,
        "PYTHONUNBUFFERED": "1",
        "MALLOC_ARENA_MAX": "2",  # threads come and go: without it each leaves memory behind
    }
    if servers.own_ray:
        made |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(ray_token_path(options.data_dir))}
    whole = {**environ, **made}
    read_env(whole)
    return whole


def ray_token_path(data_dir: Path) -> Path:
    """The file with the token of our own Ray cluster."""
    return data_dir / "ray-token"


def forget_old_cluster(data_dir: Path) -> None:
    """Delete the session folders and tables of an earlier run's Ray cluster: nothing of it lives."""
    names = ("gcs", "head", *(name for name, _rack in NODES))
    for name in names:
        for path in (data_dir / "ray" / name, temp_dir_for(data_dir, name=name)):
            shutil.rmtree(path, ignore_errors=True)


def remove_outside_folder(data_dir: Path) -> None:
    """Ray's folders that had to be elsewhere because the data folder's path is too long for sockets."""
    outside = temp_dir_for(data_dir, name="head").parent
    if outside != data_dir / "ray":
        shutil.rmtree(outside, ignore_errors=True)


def postgres_child(make: MakeChild, *, options: Options, secrets: Secrets, port: int) -> Child:
    """PostgreSQL; its data folder is made first."""
    place = embedded_postgres.find_place(options.data_dir)
    embedded_postgres.prepare(place, password=secrets.postgres_password)
    answers = _in_thread(lambda: embedded_postgres.answers(secrets.postgres_password, port=port))
    return make("postgres", lambda: embedded_postgres.command(place, port=port), answers, kind="database")


def redis_child(make: MakeChild, *, options: Options, secrets: Secrets, port: int) -> Child:
    """Valkey."""
    data = folder(options.data_dir, "redis")
    configuration = embedded_redis.prepare(data, port=port, password=secrets.redis_password)
    address = embedded_redis.url(secrets.redis_password, port=port)
    answers = _in_thread(lambda: embedded_redis.answers(address))
    return make("redis", lambda: embedded_redis.command(configuration), answers)


def django_children(make: MakeChild, *, environ: PassedOn, port: int) -> list[Child]:
    """The portal and Celery's three."""
    web = _in_thread(lambda: web_answers(port))
    children = [make("portal", _service("web", environ), web)]
    for name, alive_name in (("worker", "default"), ("tick", "tick"), ("beat", "beat")):
        children.append(make(name, _service(name, environ), _lives(environ["REDIS_URL"], alive_name)))
    return children


def ray_children(make: MakeChild, *, options: Options, secrets: Secrets, address: str) -> list[Child]:
    """The head and the four nodes of our own cluster, the head first."""
    write_private(ray_token_path(options.data_dir), secrets.ray_token)
    shared = {
        **os.environ,
        "GANGLINE_RAY_ADDRESS": address,
        "GANGLINE_RAY_DIR": str(options.data_dir),
        "RAY_AUTH_TOKEN_PATH": str(ray_token_path(options.data_dir)),
        "GANGLINE_NODE_ZONE": "z1",
        "GANGLINE_NODE_CPUS": CPUS_PER_NODE,
    }
    head = {**shared, "GANGLINE_NODE_NAME": "head", "GANGLINE_NODE_ADDRESS": HEAD_ADDRESS}
    children = [make("ray-head", _ray("ray-head", head), _said(RAY_READY_LINE))]
    for index, (name, rack) in enumerate(NODES):
        node = {
            **shared,
            "GANGLINE_NODE_NAME": name,
            "GANGLINE_NODE_RACK": rack,
            "GANGLINE_NODE_ADDRESS": f"127.0.0.{FIRST_NODE_ADDRESS + index}",
            "GANGLINE_NODE_SLOTS": SLOTS_PER_NODE,
        }
        children.append(make(f"ray-{name}", _ray("ray-node", node), _said(RAY_READY_LINE)))
    for child in children:
        child.num_tries = RAY_TRIES
    return children


def ready_nodes(database_url: str) -> set[str]:
    """The nodes that the platform itself takes for ready: conductor, agents and portal have spoken."""
    try:
        with psycopg.connect(database_url, connect_timeout=2) as connection:
            rows = connection.execute("SELECT name FROM cluster_node WHERE state = 'ready'").fetchall()
    except psycopg.Error:
        return set()
    return {row[0] for row in rows}


def _service(name: str, environ: PassedOn) -> Build:
    return lambda: Command(argv=tuple(commands.SERVICES[name](environ)), environ=environ)


def _ray(name: str, environ: PassedOn) -> Build:
    def build() -> Command:
        argv, own_environ = commands.RAY_SERVICES[name](environ)
        return Command(argv=tuple(argv), environ=own_environ)

    return build


def _in_thread(ask: Callable[[], bool]) -> Probe:
    async def probe(_child: Child) -> bool:
        return await asyncio.to_thread(ask)

    return probe


def _lives(redis_url: str, name: str) -> Probe:
    """It gave a sign of life itself: that of a predecessor, which may not have faded yet, does not count."""

    async def probe(child: Child) -> bool:
        return await asyncio.to_thread(process_lives, redis_url, name=name) == child.pid

    return probe


def _said(text: str) -> Probe:
    def probe(child: Child) -> Awaitable[bool]:
        return asyncio.sleep(0, any(text in line for line in child.lines))

    return probe
