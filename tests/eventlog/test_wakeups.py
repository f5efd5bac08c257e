"""Wake-ups: many askers, one tick; nobody listening, no harm."""

import json
from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.db import transaction

from eventlog.wakeups import (
    publish,
    publish_after_commit,
    redis_client,
    tick_begins,
    wake_conductor,
    wake_tick,
)

pytestmark = pytest.mark.django_db(transaction=True)

TICK_QUEUE = "tick"


@pytest.fixture
def tick_queue() -> Iterator[None]:
    """Celery's own queue in Redis, emptied; read by `waiting`."""
    from portal.celery import app

    app.set_current()
    redis_client().delete(TICK_QUEUE)
    tick_begins()
    yield
    redis_client().delete(TICK_QUEUE)
    tick_begins()


def waiting() -> list[str]:
    """The names of the tasks in the tick's queue."""
    messages = redis_client().lrange(TICK_QUEUE, 0, -1)
    return [json.loads(message)["headers"]["task"] for message in messages]


def test_many_askers_get_one_tick(tick_queue: object) -> None:
    """As long as it has not begun."""
    for _asker in range(5):
        wake_tick()
    assert waiting() == ["jobs.tick"]


def test_a_change_after_the_tick_began_asks_for_another(tick_queue: object) -> None:
    """What the first one may have missed is not lost."""
    wake_tick()
    tick_begins()
    wake_tick()
    assert waiting() == ["jobs.tick", "jobs.tick"]


def test_a_tick_is_asked_for_after_the_commit_only(tick_queue: object) -> None:
    """And not at all after a rollback."""
    with transaction.atomic():
        wake_tick()
        assert waiting() == []
    assert waiting() == ["jobs.tick"]
    tick_begins()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        wake_tick()
        _ = 1 / 0
    assert waiting() == ["jobs.tick"]


def test_without_redis_nothing_fails(without_redis: None) -> None:
    """Hints are lost, that is all."""
    with transaction.atomic():
        wake_tick()
        wake_conductor()
        publish_after_commit("gangline:jobs", {"job": str(uuid4())})
    tick_begins()
    assert publish("gangline:jobs", {}) is False
