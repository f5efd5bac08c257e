"""Starts the ranks of a run as the platform would, signals them, and reads what they reported."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
RECIPE = "ray_runtime.train.recipes"
_WAIT_SECONDS = 120.0


class Process(Protocol):
    """One rank, however it was started."""

    pid: int

    def poll(self) -> int | None:
        """The exit code (negative: ended by that signal), or None while it runs."""


class RankServer:
    """The other end of `rank_server.py`."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "rank_server.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            cwd=ROOT,
        )
        assert self._server.stdout is not None
        os.set_blocking(self._server.stdout.fileno(), False)
        self._rest = b""
        self._pids: dict[str, int] = {}
        self._codes: dict[str, int] = {}
        self._count = 0

    def fork(self, order: Mapping[str, Any]) -> "ForkedRank":
        """Start one rank; returns when its process exists."""
        self._count += 1
        key = str(self._count)
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps({"key": key, **order}).encode() + b"\n")
        self._server.stdin.flush()
        _until(lambda: key in self._told(), "the rank server does not answer")
        return ForkedRank(self, key, self._pids[key])

    def code(self, key: str) -> int | None:
        """The exit code of a rank that has ended."""
        self._told()
        return self._codes.get(key)

    def close(self) -> None:
        """End the server and whatever still runs below it."""
        for key, pid in self._told().items():
            if self.code(key) is None:
                os.kill(pid, signal.SIGKILL)
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(timeout=_WAIT_SECONDS)

    def _told(self) -> dict[str, int]:
        assert self._server.stdout is not None
        chunk = self._server.stdout.read()
        *lines, self._rest = (self._rest + (chunk or b"")).split(b"\n")
        for message in map(json.loads, lines):
            box = self._pids if "pid" in message else self._codes
            box[message["key"]] = message.get("pid", message.get("code"))
        return self._pids


class ForkedRank:
    """A rank that the server forked."""

    def __init__(self, server: RankServer, key: str, pid: int) -> None:
        self.pid = pid
        self._server = server
        self._key = key

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._server.code(self._key)


class Gang:
    """The ranks of one attempt, with the files that the platform would have made for them."""

    def __init__(self, folder: Path, processes: Sequence[Process]) -> None:
        self._folder = folder
        self.processes = processes

    def wait(self, *, seconds: float = _WAIT_SECONDS) -> list[int]:
        """Exit codes in rank order, once all have ended."""
        _until(
            lambda: None not in self._codes(), lambda: f"{self._codes()}\n{self.output(0)}", seconds=seconds
        )
        return [code for code in self._codes() if code is not None]

    def wait_for_step(self, step: int) -> None:
        """Until rank 0 has reported the step."""
        _until(
            lambda: (
                any(at >= step for at in self.losses()) or any(code is not None for code in self._codes())
            ),
            lambda: f"no step {step}\n{self.output(0)}",
        )

    def kill(self, rank: int, number: signal.Signals) -> None:
        """Send a signal to one rank."""
        os.kill(self.processes[rank].pid, number)

    def events(self, kind: str | None = None, *, rank: int = 0) -> list[dict[str, Any]]:
        """What a rank reported, in order; a line that is still being written is left out."""
        path = events_file(self._folder, rank)
        text = path.read_text() if path.exists() else ""
        found: list[dict[str, Any]] = [
            json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")
        ]
        return [event for event in found if kind in (None, event["kind"])]

    def losses(self) -> dict[int, float]:
        """Loss by step, as reported."""
        return {event["step"]: event["values"]["loss"] for event in self.events("metrics")}

    def output(self, rank: int) -> str:
        """What a rank printed."""
        path = self._folder / f"rank-{rank}.log"
        return path.read_text() if path.exists() else ""

    def stop(self) -> None:
        """End what still runs."""
        for process in self.processes:
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)

    def _codes(self) -> list[int | None]:
        return [process.poll() for process in self.processes]


def events_file(folder: Path, rank: int) -> Path:
    """Where a rank of the attempt in this folder reports."""
    return folder / f"rank-{rank}.events"


def rank_environment(folder: Path, *, rank: int, world_size: int, port: int) -> dict[str, str]:
    """The variables that the platform sets for each rank."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": "0",
        "WORLD_SIZE": str(world_size),
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
        "GANGLINE_EVENTS_FILE": str(events_file(folder, rank)),
        "GANGLINE_OUTPUT_DIR": str(folder / "outputs"),
    }


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _until(condition: Any, complaint: Any, *, seconds: float = _WAIT_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, complaint() if callable(complaint) else complaint
        time.sleep(0.005)
