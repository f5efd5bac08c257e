"""Events: written with the change, published after the commit, at least once."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, connection, transaction

from eventlog.models import Event
from eventlog.selectors import events_of
from eventlog.services import append_event, relay_events
from eventlog.tasks import relay
from eventlog.wakeups import job_channel
from tests.accounts.builders import NOW

pytestmark = pytest.mark.django_db
committing = pytest.mark.django_db(transaction=True)


def write(job_id: UUID, seq: int, **given: Any) -> Event:
    """One event."""
    return append_event(job_id=job_id, seq=seq, kind="started", now=NOW, **given)


@committing
def test_an_event_is_heard_after_the_commit_and_marked(listen: Any) -> None:
    """With the state it led to, where its data say so."""
    job_id = uuid4()
    listener = listen(job_channel(job_id))
    with transaction.atomic():
        event = write(job_id, 1, data={"state": "running"})
        assert listener.heard() == []
    assert listener.heard() == [{"type": "event", "seq": 1, "kind": "started", "state": "running"}]
    event.refresh_from_db()
    assert event.published_at == NOW


@committing
def test_what_is_rolled_back_is_never_heard(listen: Any) -> None:
    """Nor kept."""
    job_id = uuid4()
    listener = listen(job_channel(job_id))
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        write(job_id, 1)
        _ = 1 / 0
    assert listener.heard() == []
    assert not events_of(job_id).exists()


def test_a_crash_between_commit_and_publishing_is_made_good_by_the_relay(listen: Any) -> None:
    """In order; and only once when nothing is left."""
    job_id = uuid4()
    # What a process leaves that dies right after the commit: rows, and nobody who heard of them.
    for seq in (1, 2, 3):
        Event.objects.create(job_id=job_id, seq=seq, kind="started", at=NOW)
    listener = listen(job_channel(job_id))
    assert relay_events(now=NOW) == 3
    assert [message["seq"] for message in listener.heard()] == [1, 2, 3]
    assert relay_events(now=NOW) == 0
    assert listener.heard() == []


def test_the_relays_task_does_the_same(listen: Any) -> None:
    """Called by the clock."""
    job_id = uuid4()
    Event.objects.create(job_id=job_id, seq=1, kind="started", at=NOW)
    listener = listen(job_channel(job_id))
    relay()
    assert [message["seq"] for message in listener.heard()] == [1]


@committing
def test_an_absent_redis_fails_no_transaction(without_redis: None) -> None:
    """The event is there, unpublished, for the relay."""
    job_id = uuid4()
    with transaction.atomic():
        event = write(job_id, 1)
    event.refresh_from_db()
    assert event.published_at is None
    assert relay_events(now=NOW) == 0


@committing
def test_a_redis_that_comes_back_hears_what_it_missed(
    listen: Any, settings: Any, request: pytest.FixtureRequest
) -> None:
    """Through the relay."""
    job_id, present = uuid4(), settings.ENV
    listener = listen(job_channel(job_id))
    request.getfixturevalue("without_redis")
    write(job_id, 1)
    settings.ENV = present
    assert listener.heard() == []
    assert relay_events(now=NOW) == 1
    assert [message["seq"] for message in listener.heard()] == [1]


def test_a_number_is_given_once_per_job() -> None:
    """Two writers without the job's lock are found out."""
    job_id = uuid4()
    write(job_id, 1)
    write(uuid4(), 1)
    with pytest.raises(IntegrityError, match="event_seq_once_per_job"), transaction.atomic():
        write(job_id, 1)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE eventlog_event SET kind = 'other'",
        "UPDATE eventlog_event SET seq = 9",
        "DELETE FROM eventlog_event",
    ],
)
def test_the_database_forbids_to_change_a_fact(statement: str) -> None:
    """Only that it was published may be noted."""
    job_id = uuid4()
    write(job_id, 1)
    with (
        pytest.raises(IntegrityError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    assert events_of(job_id).get().kind == "started"


def test_events_are_read_from_any_number_on() -> None:
    """As a reader does who was away."""
    job_id = uuid4()
    for seq in (3, 1, 2):
        write(job_id, seq)
    assert [event.seq for event in events_of(job_id)] == [1, 2, 3]
    assert [event.seq for event in events_of(job_id, after_seq=2)] == [3]


def test_everything_given_is_kept() -> None:
    """Who, why, of which attempt."""
    job_id, attempt_id = uuid4(), uuid4()
    write(job_id, 1, cause="preempted", actor_id=7, attempt_id=attempt_id, data={"名": "值"})
    kept = events_of(job_id).get()
    assert (kept.cause, kept.actor_id, kept.attempt_id, kept.data, kept.version) == (
        "preempted",
        7,
        attempt_id,
        {"名": "值"},
        1,
    )
