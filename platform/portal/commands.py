"""The command line of each service, one place for all: what `gangline up` and docker-compose.yml start.

`python -m portal.commands NAME` becomes that service, with settings from the environment.
"""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from portal import ray_commands
from portal.env import ROOT
from ray_runtime.local import RayCommand

SOURCE_PATH = f"{ROOT / 'platform'}{os.pathsep}{ROOT}"
WORKER_THREADS = "4"

Argv = list[str]


def web(environ: Mapping[str, str]) -> Argv:
    """The portal: uvicorn, one process. An open stream may not hold up its end for more than 3 s."""
    host, port = environ.get("GANGLINE_HOST", "127.0.0.1"), environ.get("GANGLINE_PORT", "8000")
    return [
        *(sys.executable, "-m", "uvicorn", "portal.asgi:application", f"--host={host}", f"--port={port}"),
        *("--timeout-graceful-shutdown=3", "--lifespan=on", "--no-access-log", "--no-server-header"),
        "--log-level=warning",
    ]


def worker(_environ: Mapping[str, str]) -> Argv:
    """Celery's worker for everything but the tick. Threads: its tasks wait, they do not compute."""
    return _worker("default", "--pool=threads", f"--concurrency={WORKER_THREADS}")


def tick(_environ: Mapping[str, str]) -> Argv:
    """The one worker that decides; it keeps the snapshot in memory between ticks."""
    return _worker("tick", "--pool=solo", "--concurrency=1")


def beat(environ: Mapping[str, str]) -> Argv:
    """Celery's clock."""
    schedule = Path(environ.get("GANGLINE_DATA_DIR", ROOT / "data")) / "beat-schedule"
    return [*_celery("beat"), f"--schedule={schedule}", "--pidfile=", "--loglevel=WARNING"]


def prepare(_environ: Mapping[str, str]) -> Argv:
    """Bring the schema up to date and make the first administrator; then it ends."""
    return [sys.executable, str(ROOT / "manage.py"), "prepare"]


def probe(name: str) -> Argv:
    """The health check of a service: exit code 0 while it does its work."""
    return [sys.executable, "-m", "portal.probe", name]


def _worker(queue: str, *options: str) -> Argv:
    return [
        *(*_celery("worker"), f"--queues={queue}", f"--hostname={queue}@%h", *options),
        *("--without-gossip", "--without-mingle", "--loglevel=WARNING"),
    ]


def _celery(command: str) -> Argv:
    return [sys.executable, "-m", "celery", "--app=portal.celery", "--quiet", command]


def ray_head(environ: Mapping[str, str]) -> RayCommand:
    """The Ray head, with an environment of its own."""
    return ray_commands.ray_head(environ, python_path=SOURCE_PATH)


def ray_node(environ: Mapping[str, str]) -> RayCommand:
    """A Ray node, with an environment of its own."""
    return ray_commands.ray_node(environ, python_path=SOURCE_PATH)


SERVICES: Mapping[str, Callable[[Mapping[str, str]], Argv]] = {
    "web": web,
    "worker": worker,
    "tick": tick,
    "beat": beat,
    "prepare": prepare,
}
RAY_SERVICES: Mapping[str, Callable[[Mapping[str, str]], RayCommand]] = {
    "ray-head": ray_head,
    "ray-node": ray_node,
}


def main(arguments: list[str]) -> None:
    """Become the named service."""
    known = [*SERVICES, *RAY_SERVICES]
    if len(arguments) != 1 or arguments[0] not in known:
        sys.exit(f"usage: python -m portal.commands {{{','.join(known)}}}")
    name = arguments[0]
    if name in RAY_SERVICES:
        argv, environ = RAY_SERVICES[name](os.environ)
    else:
        argv, environ = SERVICES[name](os.environ), {**os.environ, "PYTHONPATH": SOURCE_PATH}
    os.execve(argv[0], argv, environ)


if __name__ == "__main__":
    main(sys.argv[1:])
