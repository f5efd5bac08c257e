"""Writing events and commands in the caller's transaction, and seeing that they reach their readers.

Both are delivered at least once: published or delivered first, marked afterwards.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from eventlog.models import Command, Event
from eventlog.wakeups import job_channel, publish, wake_conductor
from ray_runtime.protocol import Order, OrderKind

RELAYED_AT_ONCE = 500
_TOGETHER: ContextVar[list[Event] | None] = ContextVar("events that go out together", default=None)


def append_event(
    *,
    job_id: UUID,
    seq: int,
    kind: str,
    now: datetime,
    cause: str = "",
    actor_id: int | None = None,
    attempt_id: UUID | None = None,
    data: Mapping[str, Any] | None = None,
) -> Event:
    """Write a fact about a job; whoever follows the job hears of it after the commit.

    `seq` counts per job without gaps: the caller holds the job's row lock. A repeat is an `IntegrityError`.
    """
    event = Event.objects.create(
        job_id=job_id,
        seq=seq,
        kind=kind,
        cause=cause,
        actor_id=actor_id,
        attempt_id=attempt_id,
        data=dict(data or {}),
        at=now,
    )
    together = _TOGETHER.get()
    if together is not None:
        together.append(event)
    else:
        transaction.on_commit(lambda: _publish_events([event], now=now), robust=True)
    return event


@contextmanager
def published_together(*, now: datetime) -> Iterator[None]:
    """The block's events go out in one go after the commit, not with a transaction for each of them."""
    events: list[Event] = []
    token = _TOGETHER.set(events)
    try:
        yield
    finally:
        _TOGETHER.reset(token)
    transaction.on_commit(lambda: _publish_events(_written(events), now=now), robust=True)


def _written(events: list[Event]) -> list[Event]:
    """Those that were not rolled back with a savepoint."""
    there = set(Event.objects.filter(pk__in=[event.pk for event in events]).values_list("pk", flat=True))
    return [event for event in events if event.pk in there]


def enqueue_command(
    *, attempt_id: UUID, seq: int, kind: OrderKind, payload: Mapping[str, Any], now: datetime
) -> Command:
    """Write an order to the conductor beside the change that causes it; the conductor wakes after the commit.

    `seq` counts per attempt. Twice the same is an `IntegrityError`.
    """
    command = Command.objects.create(
        attempt_id=attempt_id, seq=seq, kind=str(kind), payload=dict(payload), created_at=now
    )
    wake_conductor()
    return command


def append_events(events: Sequence[Event], *, now: datetime) -> None:
    """`append_event` for several facts, in two statements; the callers hold their jobs' row locks."""
    written = Event.objects.bulk_create(events)
    transaction.on_commit(lambda: _publish_events(written, now=now), robust=True)


def enqueue_commands(commands: Sequence[Command]) -> None:
    """`enqueue_command` for several orders, in one statement."""
    Command.objects.bulk_create(commands)
    wake_conductor()


def open_orders(*, limit: int = 100, not_delivered_since: datetime | None = None) -> list[Order]:
    """Orders that are not done, oldest first.

    Those delivered at or after `not_delivered_since` are left out, so that a poll need not get again what its
    reader is still working on; None gives them all, as a new conductor needs.
    """
    commands = Command.objects.filter(done_at__isnull=True).order_by("id")
    if not_delivered_since is not None:
        commands = commands.exclude(delivered_at__gte=not_delivered_since)
    return [_order(command) for command in commands[:limit]]


def mark_orders_delivered(ids: Iterable[int], *, now: datetime) -> int:
    """Note when orders were handed over last; how many they were."""
    return Command.objects.filter(id__in=list(ids), done_at__isnull=True).update(delivered_at=now)


def mark_orders_done(ids: Iterable[int], *, now: datetime) -> int:
    """Close orders that were acknowledged; a repeat changes nothing. How many were closed now."""
    return Command.objects.filter(id__in=list(ids), done_at__isnull=True).update(done_at=now)


def relay_events(*, now: datetime) -> int:
    """Publish what a crash or an outage left unpublished, and wake the conductor if orders lie undelivered.

    How many events went out. Safe beside the publishing after commit: a reader may hear of a fact twice.
    """
    left = list(Event.objects.filter(published_at__isnull=True).order_by("id")[:RELAYED_AT_ONCE])
    if Command.objects.filter(done_at__isnull=True, delivered_at__isnull=True).exists():
        wake_conductor()
    return _publish_events(left, now=now)


def _publish_events(events: list[Event], *, now: datetime) -> int:
    """Publish in order and stop at the first that Redis does not take."""
    published = []
    for event in events:
        if not publish(job_channel(event.job_id), event_message(event)):
            break
        published.append(event.pk)
    if published:
        Event.objects.filter(pk__in=published, published_at__isnull=True).update(published_at=now)
    return len(published)


def event_message(event: Event) -> dict[str, Any]:
    """What subscribers of the job's channel get: enough to know what to read again."""
    message: dict[str, Any] = {"type": "event", "seq": event.seq, "kind": event.kind}
    if "state" in event.data:
        message["state"] = event.data["state"]
    return message


def _order(command: Command) -> Order:
    return Order(
        id=command.pk,
        kind=OrderKind(command.kind),
        attempt_id=str(command.attempt_id),
        payload=command.payload,
    )
