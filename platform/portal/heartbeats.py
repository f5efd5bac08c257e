"""Signs of life of processes without a port (Celery's workers and beat), kept in Redis for a few seconds.

The supervisor and the health checks of containers ask for them; `portal.celery` lets the processes give them.
"""

import os
from typing import Any

from celery import signals
from django.conf import settings
from redis import Redis
from redis.exceptions import RedisError

from portal.probe import ALIVE_KEY

SECONDS = 15


def give_signs_of_life() -> None:
    """Let this process, if it becomes a worker or beat, give its signs."""
    signals.heartbeat_sent.connect(_worker_lives, weak=False)
    signals.beat_init.connect(_beat_started, weak=False)


def _worker_lives(sender: Any, **_signal: Any) -> None:
    _say(sender.eventer.hostname.partition("@")[0])


def _beat_started(**_signal: Any) -> None:
    # From here on a task that was sent is what beat is alive by.
    signals.after_task_publish.connect(lambda **_more: _say("beat"), weak=False)


def _say(name: str) -> None:
    try:
        _client().set(ALIVE_KEY.format(name=name), os.getpid(), ex=SECONDS)
    except RedisError:
        return  # then nobody can ask for it either


_clients: "dict[int, Redis[bytes]]" = {}


def _client() -> "Redis[bytes]":
    """One connection per process, also after a fork."""
    if os.getpid() not in _clients:
        _clients[os.getpid()] = Redis.from_url(settings.ENV.redis_url, socket_timeout=2)
    return _clients[os.getpid()]
