"""Measures the memory of a process tree: the sum of PSS, which counts shared pages once."""

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

PROC = Path("/proc")
EVERY_SECONDS = 3.0


class MemoryPeak:
    """Samples a tree in the background; `bytes` is the largest sum seen.

    `marker` finds members that left the tree (a daemon re-parented to init): their command line holds it.
    """

    def __init__(self, root_pid: int, *, marker: str) -> None:
        self.bytes = 0
        self._root_pid, self._marker = root_pid, marker.encode()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample_until_done, name="memory", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _sample_until_done(self) -> None:
        while not self._done.wait(EVERY_SECONDS):
            members = tree(self._root_pid) | _marked(self._marker)
            self.bytes = max(self.bytes, sum(pss_bytes(pid) for pid in members))


def tree(root_pid: int) -> frozenset[int]:
    """The process and all its descendants."""
    children: dict[int, list[int]] = {}
    for pid in _pids():
        children.setdefault(_parent(pid), []).append(pid)
    found, open_pids = {root_pid}, [root_pid]
    while open_pids:
        below = children.get(open_pids.pop(), [])
        found.update(below)
        open_pids += below
    return frozenset(found)


def pss_bytes(pid: int) -> int:
    """The proportional set size of a process; 0 if it is gone or not ours to see."""
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def _marked(marker: bytes) -> frozenset[int]:
    return frozenset(pid for pid in _pids() if pid != os.getpid() and marker in _read(pid, "cmdline"))


def _parent(pid: int) -> int:
    fields = _read(pid, "stat").rpartition(b")")[2].split()  # the name in brackets may itself hold brackets
    return int(fields[1]) if len(fields) > 1 else 0


def _read(pid: int, name: str) -> bytes:
    try:
        return (PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""


def _pids() -> list[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal()]
