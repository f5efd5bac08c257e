"""Who descends from whom, read from /proc, and how to end them all. Standard library only."""

import os
import signal
from collections.abc import Collection
from pathlib import Path

_HAS_CHILDREN_FILES = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists()


def descendants(root: int) -> list[int]:
    """All living processes below `root`, parents before children."""
    found: list[int] = []
    level = [root]
    while level:
        level = [child for parent in level for child in children(parent)]
        found.extend(level)
    return found


def children(parent: int) -> list[int]:
    """The direct children of one process; zombies are left out."""
    try:
        threads = os.listdir(f"/proc/{parent}/task")  # noqa: PTH208  # names only
        texts = [Path(f"/proc/{parent}/task/{thread}/children").read_text() for thread in threads]
    except FileNotFoundError:
        return [] if _HAS_CHILDREN_FILES else _children_by_scan(parent)
    except (ProcessLookupError, PermissionError):
        return []
    return [pid for text in texts for pid in map(int, text.split()) if _state_and_parent(pid)[0] not in "ZX"]


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


def _children_by_scan(parent: int) -> list[int]:
    """For kernels without CONFIG_PROC_CHILDREN: reads every process, 1,000 of them in 20 ms."""
    entries = ((pid, *_state_and_parent(pid)) for pid in _pids())
    return [pid for pid, state, its_parent in entries if its_parent == parent and state not in "ZX"]


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
