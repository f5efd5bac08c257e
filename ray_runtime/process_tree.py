"""Who descends from whom, read from /proc, and how to end them all. Standard library only."""

import os
import signal
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path


def descendants(root: int) -> list[int]:
    """All living processes below `root`, parents before children; zombies are left out."""
    children = _children()
    found: list[int] = []
    level = [root]
    while level:
        level = [child for parent in level for child in children[parent]]
        found.extend(level)
    return found


def children(parent: int) -> list[int]:
    """The living direct children of one process."""
    return _children()[parent]


def kill_descendants(root: int) -> int:
    """SIGKILL to everything below `root`; how many were signalled. Call again until it answers 0.

    A process that forks at this very moment is found in the next round, below its parent or, as an orphan,
    below the sub-reaper that `root` is.
    """
    found = descendants(root)
    for pid in found:
        kill(pid, signal.SIGKILL)
    return len(found)


def kill(pid: int, number: int) -> None:
    """`os.kill` that does not mind a process that is already gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def with_variable(name: str, values: Collection[str]) -> list[int]:
    """Processes started with `name` at one of `values` in their environment, as far as we may look."""
    wanted = {f"{name}={value}".encode() for value in values}
    return [pid for pid in _pids() if not wanted.isdisjoint(_environ(pid).split(b"\0"))]


def _children() -> defaultdict[int, list[int]]:
    found: defaultdict[int, list[int]] = defaultdict(list)
    for pid in _pids():
        state, parent = _state_and_parent(pid)
        if state not in "ZX":
            found[parent].append(pid)
    return found


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208  # names only, no Path objects


def _state_and_parent(pid: int) -> tuple[str, int]:
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return "X", 0
    fields = text[text.rindex(b")") + 2 :].split()  # the name in brackets may hold spaces and brackets
    return fields[0].decode(), int(fields[1])


def _environ(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
