"""Listening to Redis, and losing it."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis


class Listener:
    """Hears what is published on the channels it was made for."""

    def __init__(self, url: str, *channels: str) -> None:
        self._client = redis.Redis.from_url(url)
        self._pubsub = self._client.pubsub()
        self._pubsub.subscribe(*channels)
        for _channel in channels:
            self._pubsub.get_message(timeout=5)

    def heard(self) -> list[dict[str, Any]]:
        """Everything that has arrived by now, in order."""
        messages = []
        # Redis delivers to subscribers before it answers the publisher: what was published is here already,
        # so the wait is only for the end of the list.
        while (message := self._pubsub.get_message(timeout=0.2)) is not None:
            messages.append(json.loads(message["data"]))
        return messages

    def close(self) -> None:
        """Stop listening."""
        self._pubsub.close()
        self._client.close()


@pytest.fixture
def listen() -> Iterator[Any]:
    """Start a listener on channels; it is closed afterwards."""
    from django.conf import settings

    listeners: list[Listener] = []

    def start(*channels: str) -> Listener:
        listeners.append(Listener(settings.ENV.redis_url, *channels))
        return listeners[-1]

    yield start
    for listener in listeners:
        listener.close()


@contextmanager
def _nobody_listens() -> Iterator[int]:
    """A port of this machine that refuses connections for as long as we have it bound."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def without_redis(settings: Any) -> Iterator[None]:
    """Redis is away: the address refuses connections."""
    import dataclasses

    with _nobody_listens() as port:
        settings.ENV = dataclasses.replace(settings.ENV, redis_url=f"redis://127.0.0.1:{port}/0")
        yield
