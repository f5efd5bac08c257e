"""The agent's side of nursery and rank hosts: asyncio, no blocking call."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from ray_runtime.nursery import NUMBER
from ray_runtime.start import RankPlan

_PACKAGE_ROOT = str(Path(__file__).resolve().parent.parent)
_NURSERY = "import sys; sys.path.insert(0, sys.argv.pop(1)); from ray_runtime.nursery import main; main()"


class HostLink:
    """The control line to one rank host."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def send_plan(self, ranks: list[RankPlan], *, exits: Path) -> None:
        """The first message: what to start, and the file in which exits are noted."""
        self._send({"ranks": [asdict(plan) for plan in ranks], "exits": str(exits)})

    def send_stop(self, grace_seconds: float) -> None:
        """SIGTERM to all ranks, SIGKILL to everything when the grace is over."""
        self._send({"stop": grace_seconds})

    async def messages(self) -> AsyncIterator[Mapping[str, Any]]:
        """What the host says, until its socket closes. Only `{"gone": true}` proves that nothing is left."""
        try:
            while line := await self._reader.readline():
                yield json.loads(line)
        except ConnectionError:
            return
        finally:
            self._writer.close()

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._writer.is_closing():
            return  # it has ended; its last messages tell how
        self._writer.write(json.dumps(message).encode() + b"\n")


class Nursery:
    """The running nursery of this agent."""

    def __init__(self, process: subprocess.Popen[bytes], line: socket.socket) -> None:
        self.pid = process.pid
        self.mode = ""  # "namespace" or "subreaper"
        self._process = process
        self._line = line
        self._next = 1
        self._swept: dict[int, asyncio.Event] = {}
        self._listener: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, *, on_death: Callable[[], None], force_subreaper: bool = False) -> Self:
        """Start it and wait until it says how it can hold processes together. `on_death`: it is gone."""
        ours, theirs = socket.socketpair()
        argv = [sys.executable, "-I", "-S", "-c", _NURSERY, _PACKAGE_ROOT]
        argv += ["subreaper"] if force_subreaper else []
        process = subprocess.Popen(argv, stdin=theirs.fileno(), env={"PATH": os.defpath})
        theirs.close()
        ours.setblocking(False)
        nursery = cls(process, ours)
        reader, _writer = await asyncio.open_connection(sock=ours.dup())
        nursery.mode = (await reader.readline()).decode().strip()
        nursery._listener = asyncio.create_task(nursery._listen(reader, _writer, on_death))
        return nursery

    async def open_host(self) -> tuple[HostLink, asyncio.Event]:
        """Fork a rank host. The event is set when the host and everything below it has ended."""
        ours, theirs = socket.socketpair()
        number, self._next = self._next, self._next + 1
        swept = self._swept[number] = asyncio.Event()
        # 8 bytes never fill the buffer of a peer that only forks: this does not block.
        socket.send_fds(self._line, [NUMBER.pack(number)], [theirs.fileno()])
        theirs.close()
        ours.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=ours)
        return HostLink(reader, writer), swept

    def close(self) -> None:
        """Let it go, and with it every host."""
        if self._listener is not None:
            self._listener.cancel()
        with suppress(OSError):  # it is closed, or the nursery is dead
            self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()
        self._process.wait()

    async def _listen(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, on_death: Callable[[], None]
    ) -> None:
        try:
            while line := await reader.readline():
                self._swept.pop(int(line)).set()
        except ConnectionError:
            pass
        finally:
            writer.close()
        on_death()
