"""Which port a gang's rank 0 will listen on. The program binds it later, so it is only chosen here."""

import random
import socket
from collections.abc import Collection

_FIRST, _WIDTH, _SHARES = (
    20_000,
    750,
    16,
)  # below Linux' ephemeral ports (32768 and up), or outgoing calls take it


def choose_port(address: str, *, taken: Collection[int]) -> int:
    """A free port for `address` that none of our attempts (`taken`) has been given.

    Programs bind all interfaces, so several agents on one machine share its ports: each draws from the share
    that its address selects.
    """
    first = _FIRST + _share(address) * _WIDTH
    for port in random.sample(range(first, first + _WIDTH), _WIDTH):
        if port not in taken and _is_free(port):
            return port
    raise OSError(f"no free port between {first} and {first + _WIDTH}")


def _share(address: str) -> int:
    return int(address.rpartition(".")[2]) % _SHARES if address.rpartition(".")[2].isdigit() else 0


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
