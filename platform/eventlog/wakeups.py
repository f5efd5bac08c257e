"""Wake-ups through Redis: hints that something changed. PostgreSQL has the truth: a lost one only costs time.

Redis being away never fails the caller: it is logged, and beat, relay and the poll's own timeout catch up.
"""

import functools
import json
import logging
from collections.abc import Mapping
from typing import Any

import celery
import redis
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError

ORDERS_CHANNEL = "gangline:orders"
JOBS_CHANNEL = "gangline:jobs"

_TICK_ASKED_FOR = "gangline:tick-asked-for"
_TICK_ASKED_FOR_MILLISECONDS = 1000  # a tick that never came (its worker died) is forgotten after this

logger = logging.getLogger(__name__)


def job_channel(job_id: object) -> str:
    """The channel of one job's changes."""
    return f"gangline:job:{job_id}"


def publish(channel: str, message: Mapping[str, Any]) -> bool:
    """Tell whoever listens now; False if Redis is away. Call it outside transactions."""
    try:
        redis_client().publish(channel, json.dumps(message))
    except redis.RedisError as error:
        logger.warning("no wake-up on %s: %s", channel, error)
        return False
    return True


def publish_after_commit(channel: str, message: Mapping[str, Any]) -> None:
    """`publish` once the surrounding transaction is committed; never if it is rolled back."""
    transaction.on_commit(lambda: publish(channel, message), robust=True)


def wake_conductor() -> None:
    """End the conductor's long poll after the commit: there are orders."""
    publish_after_commit(ORDERS_CHANNEL, {"type": "orders"})


def wake_tick() -> None:
    """Ask for a tick after the commit; many askers in a row get one tick."""
    transaction.on_commit(_ask_for_tick, robust=True)


def tick_begins() -> None:
    """The tick calls this before it reads anything, so that whatever changes from now on asks for another."""
    try:
        redis_client().delete(_TICK_ASKED_FOR)
    except redis.RedisError as error:
        logger.warning("wake-ups of the tick stay merged for a second: %s", error)


def redis_client() -> "redis.Redis[bytes]":
    """This process's client; short time-outs, because nobody may wait for a hint."""
    return _client_of(settings.ENV.redis_url)


@functools.lru_cache(maxsize=4)
def _client_of(url: str) -> "redis.Redis[bytes]":
    return redis.Redis.from_url(url, socket_timeout=2, socket_connect_timeout=1)


def _ask_for_tick() -> None:
    try:
        if redis_client().set(_TICK_ASKED_FOR, 1, nx=True, px=_TICK_ASKED_FOR_MILLISECONDS):
            celery.current_app.send_task("jobs.tick", queue="tick", ignore_result=True, retry=False)
    except (redis.RedisError, OperationalError) as error:
        logger.warning("no tick asked for, the next one by the clock will do: %s", error)
