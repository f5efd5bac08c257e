"""One Redis subscription for the whole process, handed out to everybody who waits: streams and long polls.

A listener that cannot keep up, or that may have missed something, is `overrun`: its stream is closed and the
browser comes back and catches up from the database. While Redis is away nothing arrives, so whoever waits
also looks into the database from time to time.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

QUEUE_LENGTH = 2000
RETRY_SECONDS = 1.0
CONFIRM_SECONDS = 2.0
OWN_CHANNEL = "gangline:portal"  # keeps the subscription alive while nobody listens


class Listener:
    """What one waiter has not yet read."""

    def __init__(self) -> None:
        self._messages: asyncio.Queue[bytes] = asyncio.Queue(QUEUE_LENGTH)
        self.overrun = False

    def put(self, message: bytes) -> None:
        """Keep the message, or remember that one was lost."""
        try:
            self._messages.put_nowait(message)
        except asyncio.QueueFull:
            self.overrun = True

    async def get(self, *, timeout: float) -> bytes | None:
        """The next message; None when none came in time."""
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(self._messages.get(), timeout)
        return None


class Broadcasts:
    """The subscription, and who listens to which channel."""

    def __init__(self, redis_url: str) -> None:
        self._url = redis_url
        self._listeners: dict[str, set[Listener]] = {}
        self._confirmed: dict[str, asyncio.Event] = {}
        self._pubsub: PubSub | None = None
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def listen(self, channel: str) -> AsyncIterator[Listener]:
        """Listen to one channel while the block runs; Redis has confirmed it before the block starts."""
        listener = Listener()
        self._listeners.setdefault(channel, set()).add(listener)
        await self._subscribe(channel)
        try:
            yield listener
        finally:
            self._listeners[channel].discard(listener)
            if not self._listeners[channel]:
                del self._listeners[channel]
                self._confirmed.pop(channel, None)
                await self._send("unsubscribe", channel)

    async def close(self) -> None:
        """Stop reading."""
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def _subscribe(self, channel: str) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        if channel not in self._confirmed:
            self._confirmed[channel] = asyncio.Event()
            await self._send("subscribe", channel)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._confirmed[channel].wait(), CONFIRM_SECONDS)

    async def _send(self, command: str, channel: str) -> None:
        if self._pubsub is not None:
            with contextlib.suppress(RedisError, OSError):
                await getattr(self._pubsub, command)(channel)

    async def _run(self) -> None:
        while True:
            try:
                async with Redis.from_url(self._url) as client, client.pubsub() as pubsub:
                    await self._read(pubsub)
            except (RedisError, OSError) as error:
                logger.warning("no messages for the moment: %s", error)
            finally:
                self._pubsub = None
            self._mark_all_overrun()
            await asyncio.sleep(RETRY_SECONDS)

    async def _read(self, pubsub: PubSub) -> None:
        await pubsub.subscribe(OWN_CHANNEL, *self._listeners)
        self._pubsub = pubsub
        while True:
            message = await pubsub.get_message(timeout=30)
            if message is None:
                await pubsub.ping()
                continue
            channel = message["channel"].decode() if message["channel"] else ""
            if message["type"] == "subscribe" and channel in self._confirmed:
                self._confirmed[channel].set()
            elif message["type"] == "message":
                self._hand_out(channel, message["data"])

    def _hand_out(self, channel: str, data: bytes) -> None:
        for listener in self._listeners.get(channel, ()):
            listener.put(data)

    def _mark_all_overrun(self) -> None:
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.overrun = True
