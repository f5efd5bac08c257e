"""The sessions that the supervisor's children lead, and a keeper that ends them if the supervisor is killed.

The kernel ends the children themselves; but Ray's helpers outlive the raylet that started them. The keeper is
a small process (`python -m portal.sessions`) that reads the leaders from its input. When the input ends while
there are any, the supervisor is gone, and what is left of its sessions is killed.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

# Servers that the kernel has asked to stop may close their files first.
PATIENCE_SECONDS = 3.0
LAST_ROUNDS = 20


def kill_session(leader: int) -> int:
    """Kill every process of the leader's session, also those in process groups of their own; how many."""
    killed = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and _session_of(entry) == leader:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(entry.name), signal.SIGKILL)
                killed += 1
    return killed


class Keeper:
    """The supervisor's end of the pipe."""

    def __init__(self, source_path: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-m", "portal.sessions"],
            env={"PYTHONPATH": source_path},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def add(self, leader: int) -> None:
        """A child leads this session from now on."""
        self._tell(f"+{leader}")

    def remove(self, leader: int) -> None:
        """The session is empty; its number may soon be somebody else's."""
        self._tell(f"-{leader}")

    def close(self) -> None:
        """Everything was stopped in order."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(PATIENCE_SECONDS * 4)

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()


def keep() -> None:
    """Read until the input ends, then see that the sessions that are left end too."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    leaders: set[int] = set()
    for line in sys.stdin:
        change = leaders.add if line.startswith("+") else leaders.discard
        change(int(line[1:]))
    if leaders:
        time.sleep(PATIENCE_SECONDS)
        _end_all(leaders)


def _end_all(leaders: set[int]) -> None:
    for _round in range(LAST_ROUNDS):
        if not sum(kill_session(leader) for leader in leaders):
            return
        time.sleep(0.1)


def _session_of(entry: Path) -> int | None:
    try:
        text = (entry / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(text.rpartition(")")[2].split()[3])


if __name__ == "__main__":
    keep()
