"""Health checks: `python -m portal.probe web|worker|tick|beat|ray`, exit code 0 while the service works."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from urllib.error import URLError
from urllib.request import urlopen

import redis

ALIVE_KEY = "gangline:alive:{name}"  # portal.heartbeats writes the process id here
SECONDS = 3
RAY_SECONDS = 20


def web_answers(port: int, *, path: str = "/readyz") -> bool:
    """Whether the portal is there, with its database, its schema and Redis."""
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=SECONDS) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def process_lives(redis_url: str, *, name: str) -> int | None:
    """The process id of the worker or beat of this name that gave a sign of life lately."""
    try:
        with redis.Redis.from_url(
            redis_url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS
        ) as client:
            pid = client.get(ALIVE_KEY.format(name=name))
    except redis.RedisError:
        return None
    return int(pid) if isinstance(pid, bytes) else None


def ray_answers(address: str) -> bool:
    """Whether the cluster's head takes our token and is well, as Ray's own check sees it."""
    argv = [sys.executable, "-m", "ray.scripts.scripts", "health-check", f"--address={address}"]
    try:
        return subprocess.run(argv, capture_output=True, timeout=RAY_SECONDS, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _process(name: str) -> Callable[[Mapping[str, str]], bool]:
    # A worker's node name is that of its queue; the everyday one is called `default`.
    return lambda environ: process_lives(environ["REDIS_URL"], name=name) is not None


PROBES: Mapping[str, Callable[[Mapping[str, str]], bool]] = {
    "web": lambda environ: web_answers(int(environ.get("GANGLINE_PORT", "8000"))),
    "worker": _process("default"),
    "tick": _process("tick"),
    "beat": _process("beat"),
    "ray": lambda environ: ray_answers(environ["GANGLINE_RAY_ADDRESS"]),
}


def main(arguments: list[str]) -> int:
    """Ask the named service."""
    if len(arguments) != 1 or arguments[0] not in PROBES:
        print(f"usage: python -m portal.probe {{{','.join(PROBES)}}}", file=sys.stderr)  # noqa: T201  # a command
        return 2
    return 0 if PROBES[arguments[0]](os.environ) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
