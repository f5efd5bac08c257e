"""Two hosts on one machine: network namespaces joined by a cable that can be pulled. Needs root."""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CLONE_NEWNET = 0x40000000
LEFT_ADDRESSES = ("10.251.0.1", "10.251.0.3")
RIGHT_ADDRESSES = ("10.251.0.2",)

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Cable:
    """The cable between the namespaces `left` and `right`; its end in each is called `wire`."""

    left: str
    right: str

    def pull(self) -> None:
        """From now on nothing gets through; nobody is told."""
        _ip("-n", self.right, "link", "set", "wire", "down")

    def plug_in(self) -> None:
        """As before."""
        _ip("-n", self.right, "link", "set", "wire", "up")


@contextmanager
def two_hosts() -> Iterator[Cable]:
    """Two namespaces of this run, with the addresses above and their own loopback; gone afterwards."""
    cable = Cable(f"gl-left-{os.getpid()}", f"gl-right-{os.getpid()}")
    _ip("netns", "add", cable.left)
    _ip("netns", "add", cable.right)
    try:
        _ip(
            "-n",
            cable.left,
            "link",
            "add",
            "wire",
            "type",
            "veth",
            "peer",
            "name",
            "wire",
            "netns",
            cable.right,
        )
        for name, addresses in ((cable.left, LEFT_ADDRESSES), (cable.right, RIGHT_ADDRESSES)):
            for address in addresses:
                _ip("-n", name, "address", "add", f"{address}/24", "dev", "wire")
            _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", name, "link", "set", "wire", "up")
        yield cable
    finally:
        _ip("netns", "delete", cable.left)
        _ip("netns", "delete", cable.right)


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """This thread, and all that it starts and connects to, in the namespace."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    other = os.open(Path("/run/netns") / namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _enter(other)
        yield
    finally:
        _enter(own)
        os.close(own)
        os.close(other)


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns: network namespaces need root")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=30)
