"""The whole platform on one machine: `python -m portal.supervisor`, which `gangline up` becomes.

Starts every part in order, each only when what it needs does its work; keeps them running; stops them in the
opposite order on SIGTERM or Ctrl-C. It decides nothing about jobs and holds no state but the data folder.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from portal import commands, embedded_postgres, local_platform
from portal.children import Child, Command, Probe, StartError, run_once
from portal.data_folder import (
    DataFolderError,
    Secrets,
    folder,
    load_secrets,
    locked,
    write_private_json,
)
from portal.env import ROOT, EnvError
from portal.local_platform import Options, PortTakenError, Servers
from portal.sessions import Keeper

SEEDS = ("demo",)
NODES_SECONDS = 60.0
NODES_POLL_SECONDS = 0.25


class Supervisor:
    """The children of one run."""

    def __init__(self, options: Options, environ: Mapping[str, str]) -> None:
        self._options = options
        self._secrets: Secrets = load_secrets(options.data_dir)
        self._servers: Servers = local_platform.choose_servers(environ, self._secrets)
        self._environ = local_platform.portal_environ(
            environ, options=options, secrets=self._secrets, servers=self._servers
        )
        self._log_dir = folder(options.data_dir, "logs")
        self._run_dir = folder(options.data_dir, "run")
        self._children: list[Child] = []
        self._keeper = Keeper(commands.SOURCE_PATH)

    async def run(self, stopped: asyncio.Event) -> None:
        """Start everything, say that it is ready, wait for the end, stop everything."""
        starting = asyncio.create_task(self._start())
        stopping = asyncio.create_task(stopped.wait())
        try:
            await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                starting.result()
                self._say_ready()
                await stopping
        finally:
            starting.cancel()
            stopping.cancel()
            await asyncio.wait((starting, stopping))
            await self._stop()

    async def _start(self) -> None:
        options, secrets, servers = self._options, self._secrets, self._servers
        self._tell("starting; the first time takes a minute")
        await self._start_servers()
        django = local_platform.django_children(self._make, environ=self._environ, port=options.port)
        if not servers.own_ray:
            await self._prepare()
            await _start_all(django)
            return
        local_platform.forget_old_cluster(options.data_dir)
        head, *nodes = local_platform.ray_children(
            self._make, options=options, secrets=secrets, address=servers.ray_address
        )
        await _start_all([head], self._prepare())
        await _start_all([*django, *nodes])
        await self._wait_for_nodes()

    async def _wait_for_nodes(self) -> None:
        """Until jobs can start. A cluster that is slow to come is no reason to stop the portal."""
        wanted = {name for name, _rack in local_platform.NODES}
        ends_at = time.monotonic() + NODES_SECONDS
        while not wanted <= await asyncio.to_thread(local_platform.ready_nodes, self._servers.database_url):
            if time.monotonic() > ends_at:
                self._tell("not all nodes are ready yet; jobs wait until they are")
                return
            await asyncio.sleep(NODES_POLL_SECONDS)

    async def _start_servers(self) -> None:
        options, secrets, servers = self._options, self._secrets, self._servers
        children = []
        if servers.redis_port:
            children.append(
                local_platform.redis_child(
                    self._make, options=options, secrets=secrets, port=servers.redis_port
                )
            )
        if servers.postgres_port:
            make_postgres = local_platform.postgres_child
            children.append(
                await asyncio.to_thread(
                    make_postgres, self._make, options=options, secrets=secrets, port=servers.postgres_port
                )
            )
        await _start_all(children)
        if servers.postgres_port:
            password = secrets.postgres_password
            await asyncio.to_thread(embedded_postgres.create_database, password, port=servers.postgres_port)

    async def _prepare(self) -> None:
        """Schema, first administrator, and what was asked to be seeded."""
        argv = commands.prepare(self._environ)
        if self._options.seed:
            argv.append(f"--seed={self._options.seed}")
        command = Command(argv=tuple(argv), environ=self._environ)
        await run_once("prepare", command, log_dir=self._log_dir)

    async def _stop(self) -> None:
        """In the opposite order: what uses a server stops before the server."""
        self._tell("stopping")
        groups = (("beat", "tick", "worker"), ("portal",), ("ray-n",), ("ray-head",), ("redis", "postgres"))
        for group in groups:
            going = [child for child in self._children if child.name.startswith(group)]
            await asyncio.gather(*(child.stop() for child in going))
        await asyncio.to_thread(self._keeper.close)
        local_platform.remove_outside_folder(self._options.data_dir)
        self._tell("stopped")

    def _make(self, name: str, build: Callable[[], Command], probe: Probe, *, kind: str = "") -> Child:
        polite = signal.SIGINT if kind == "database" else signal.SIGTERM
        child = Child(
            name=name,
            build=build,
            probe=probe,
            log_dir=self._log_dir,
            held=self._run_dir / "held" / name,
            show=self._show,
            changed=self._write_pids,
            keeper=self._keeper,
            stop_signal=polite,
            # A server closes its files by itself when the supervisor dies; the rest has nothing to close.
            death_signal=polite if name in ("postgres", "redis") else signal.SIGKILL,
        )
        self._children.append(child)
        return child

    def _write_pids(self) -> None:
        children = {
            child.name: {"pid": child.pid, "ready": child.ready, "num_starts": child.num_starts}
            for child in self._children
        }
        write_private_json(self._run_dir / "pids.json", {"supervisor": os.getpid(), "children": children})

    def _say_ready(self) -> None:
        options = self._options
        files = {"admin_file": options.data_dir / "admin.json"}
        if options.seed:
            files["demo_file"] = options.data_dir / "demo.json"
        url = self._environ["GANGLINE_PUBLIC_URL"]
        if options.json_ready:
            paths = {name: str(path) for name, path in files.items()}
            ready = {"url": url, "data_dir": str(options.data_dir), "pid": os.getpid(), **paths}
            write_private_json(options.json_ready, ready)
        self._tell(f"ready at {url}")
        self._tell(f"log in as admin; the password is in {files['admin_file']}")
        self._tell("user code of all teams runs under one account: let in only people who trust one another")
        self._tell("Ctrl-C stops everything")

    def _show(self, name: str, line: str) -> None:
        if not self._options.quiet:
            _print(name, line)

    def _tell(self, line: str) -> None:
        _print("gangline", line)


def main(arguments: list[str]) -> int:
    """Run until stopped. 0: stopped as asked; 1: something did not start; 2: it cannot start like this."""
    options = _parse(arguments)
    environ = {name: value for name, value in os.environ.items() if name != "GANGLINE_DATA_DIR"}
    try:
        local_platform.check_port(options.port)
        with locked(options.data_dir):
            return asyncio.run(_supervise(options, environ))
    except (DataFolderError, PortTakenError, EnvError) as error:
        _print("gangline", f"cannot start: {error}")
        return 2


async def _supervise(options: Options, environ: Mapping[str, str]) -> int:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stopped.set)
    try:
        await Supervisor(options, environ).run(stopped)
    except StartError as error:
        _print("gangline", str(error))
        return 1
    return 0


async def _start_all(children: list[Child], *others: object) -> None:
    """Start them at once; the first that fails ends the start."""
    tasks = [asyncio.ensure_future(child.start()) for child in children]
    tasks += [asyncio.ensure_future(other) for other in others]  # type: ignore[call-overload]  # coroutines
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def _parse(arguments: list[str]) -> Options:
    parser = argparse.ArgumentParser(prog="python -m portal.supervisor", description=__doc__)
    default = os.environ.get("GANGLINE_DATA_DIR") or str(ROOT / "data")
    parser.add_argument("--data-dir", type=Path, default=Path(default), help="where everything is kept")
    parser.add_argument("--port", type=int, default=int(os.environ.get("GANGLINE_PORT", "8000")))
    parser.add_argument("--seed", choices=SEEDS, help="make teams, queues and users to play with")
    parser.add_argument("--json-ready", type=Path, help="write the address here once everything is ready")
    parser.add_argument("--quiet", action="store_true", help="show only what the supervisor itself says")
    given = parser.parse_args(arguments)
    return Options(
        data_dir=given.data_dir.expanduser().absolute(),
        port=given.port or local_platform.free_port(),
        seed=given.seed,
        json_ready=given.json_ready,
        quiet=given.quiet,
    )


def _print(name: str, line: str) -> None:
    with contextlib.suppress(BrokenPipeError, ValueError):
        sys.stdout.write(f"{name:>9} | {line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
