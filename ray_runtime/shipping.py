"""Streams on their way from a node's disk to the portal: by offset, resumable, nothing lost or doubled.

The files themselves are the spool. The portal's size of a stream is the truth about how far it has come; an
agent that does not know it asks. While the portal is away everything waits on disk.
"""

import asyncio
import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ray_runtime import linux
from ray_runtime.attempt_client import AttemptClient
from ray_runtime.patience import happens
from ray_runtime.portal_http import Backoff, PortalAwayError, PortalRefusedError

SCAN_SECONDS = 0.2
CHUNK_BYTES = 1 << 20
KEPT_TAIL_BYTES = 1 << 20  # what stays on disk of a shipped stream: an end report quotes its last lines
PUNCH_BYTES = 16 << 20

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Stream:
    """One file and how far it has been shipped."""

    client: AttemptClient
    name: str
    path: Path
    offset: int | None  # what the portal has; None: ask
    closed: bool = False  # nobody writes to it any more
    done: bool = False  # the portal has all of it and knows that it is final, or refused it for good
    busy: bool = False
    punched: int = 0

    def is_due(self) -> bool:
        """Whether there is something to send."""
        if self.done or self.busy:
            return False
        size = self.size()
        return self.closed or size > (self.offset or 0)

    def size(self) -> int:
        """Bytes written so far; 0 before the file exists."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0


@dataclass(slots=True, eq=False)
class Shipment:
    """All streams of one attempt on this node."""

    streams: list[Stream]
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Shipper:
    """Looks at all files a few times per second and sends what is new."""

    def __init__(self, *, parallel: int = 8) -> None:
        self._shipments: dict[str, Shipment] = {}
        self._nudge = asyncio.Event()
        self._slots = asyncio.Semaphore(parallel)
        self._backoff = Backoff()
        self._paused_until = 0.0
        self._running: set[asyncio.Task[None]] = set()

    def add(
        self, attempt_id: str, *, client: AttemptClient, files: Iterable[tuple[str, Path]], is_new: bool
    ) -> None:
        """Follow these (stream name, file) pairs. `is_new`: the portal cannot have anything of them yet."""
        offset = 0 if is_new else None
        streams = [Stream(client=client, name=name, path=path, offset=offset) for name, path in files]
        self._shipments[attempt_id] = Shipment(streams=streams)

    async def finish(self, attempt_id: str) -> None:
        """Nothing is written any more: returns when the portal has every byte and the final flags."""
        shipment = self._shipments.get(attempt_id)
        if shipment is None:
            return  # it was never prepared: there are no streams
        for stream in shipment.streams:
            stream.closed = True
        self._nudge.set()
        self._settle(shipment)
        await shipment.done.wait()
        del self._shipments[attempt_id]

    async def run(self) -> None:
        """For the life of the agent."""
        while True:
            if not self._is_paused():
                for shipment in self._shipments.values():
                    for stream in shipment.streams:
                        if stream.is_due():
                            self._spawn(shipment, stream)
            if await happens(self._nudge, within_seconds=SCAN_SECONDS):
                self._nudge.clear()

    def _spawn(self, shipment: Shipment, stream: Stream) -> None:
        stream.busy = True
        task = asyncio.create_task(self._ship(shipment, stream))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _ship(self, shipment: Shipment, stream: Stream) -> None:
        try:
            async with self._slots:
                if self._is_paused():
                    return
                await self._catch_up(stream)
            self._backoff.reset()
        except PortalAwayError as error:
            self._pause(error)
        except PortalRefusedError as refusal:
            logger.error("stream %s is refused, its rest is dropped: %s", stream.path, refusal)
            stream.done = True
        finally:
            stream.busy = False
            self._settle(shipment)

    def _is_paused(self) -> bool:
        return asyncio.get_running_loop().time() < self._paused_until

    def _pause(self, error: PortalAwayError) -> None:
        if not self._is_paused():
            pause = self._backoff.pause()
            self._paused_until = asyncio.get_running_loop().time() + pause
            logger.warning("the portal is away, streams wait %.1f s: %s", pause, error)

    async def _catch_up(self, stream: Stream) -> None:
        """Send chunk by chunk until nothing is left."""
        if stream.offset is None:
            stream.offset = await stream.client.append(stream.name, offset=0, body=b"", final=False)
        while True:
            # `closed` before reading: a final flag must not be set for bytes that come after the last read.
            closed = stream.closed
            body = await asyncio.to_thread(_read, stream.path, stream.offset)
            final = closed and len(body) < CHUNK_BYTES
            if not body and not final:
                return
            sent_to = stream.offset + len(body)
            size = await stream.client.append(stream.name, offset=stream.offset, body=body, final=final)
            # Less than our offset is a gap: go back. Otherwise it was taken (a portal may store less: a cap).
            has_gap = size < stream.offset
            stream.offset = size if has_gap else max(size, sent_to)
            if final and not has_gap:
                stream.done = True
                return
            await self._give_back(stream)

    async def _give_back(self, stream: Stream) -> None:
        """Free the disk below what was shipped, so that a talkative job cannot fill it."""
        end = ((stream.offset or 0) - KEPT_TAIL_BYTES) // 4096 * 4096
        if end - stream.punched < PUNCH_BYTES:
            return
        try:
            await asyncio.to_thread(linux.punch_hole, str(stream.path), start=stream.punched, end=end)
        except OSError as error:
            logger.info("cannot free disk below %s: %s", stream.path, error)
        stream.punched = end

    def _settle(self, shipment: Shipment) -> None:
        if all(stream.done for stream in shipment.streams):
            shipment.done.set()


def _read(path: Path, offset: int) -> bytes:
    try:
        with path.open("rb") as file:
            return os.pread(file.fileno(), CHUNK_BYTES, offset)
    except FileNotFoundError:
        return b""
