"""Commands: the outbox of orders to the conductor."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, transaction

from eventlog.models import Command
from eventlog.services import (
    enqueue_command,
    mark_orders_delivered,
    mark_orders_done,
    open_orders,
    relay_events,
)
from eventlog.wakeups import ORDERS_CHANNEL
from ray_runtime.protocol import Order, OrderKind
from tests.accounts.builders import NOW

pytestmark = pytest.mark.django_db
committing = pytest.mark.django_db(transaction=True)


def write(attempt_id: UUID, seq: int, kind: OrderKind = OrderKind.LAUNCH) -> Command:
    """One command."""
    return enqueue_command(attempt_id=attempt_id, seq=seq, kind=kind, payload={"n": seq}, now=NOW)


@committing
def test_a_command_wakes_the_conductor_after_the_commit(listen: Any) -> None:
    """And not before."""
    listener = listen(ORDERS_CHANNEL)
    with transaction.atomic():
        write(uuid4(), 1)
        assert listener.heard() == []
    assert listener.heard() == [{"type": "orders"}]


def test_open_orders_come_oldest_first(listen: Any) -> None:
    """In the words of the protocol."""
    attempt_id = uuid4()
    first, second = write(attempt_id, 1), write(attempt_id, 2, OrderKind.STOP)
    assert open_orders() == [
        Order(id=first.pk, kind=OrderKind.LAUNCH, attempt_id=str(attempt_id), payload={"n": 1}),
        Order(id=second.pk, kind=OrderKind.STOP, attempt_id=str(attempt_id), payload={"n": 2}),
    ]
    assert [order.id for order in open_orders(limit=1)] == [first.pk]


def test_a_delivered_order_stays_open_until_it_is_done() -> None:
    """A conductor that died with it gets it again."""
    command = write(uuid4(), 1)
    assert mark_orders_delivered([command.pk], now=NOW) == 1
    assert [order.id for order in open_orders()] == [command.pk]
    assert mark_orders_done([command.pk], now=NOW) == 1
    assert open_orders() == []


def test_a_poll_is_spared_what_was_delivered_just_now() -> None:
    """Until it is time to try again."""
    delivered, fresh = write(uuid4(), 1), write(uuid4(), 1)
    mark_orders_delivered([delivered.pk], now=NOW)
    recently = NOW - timedelta(seconds=5)
    assert [order.id for order in open_orders(not_delivered_since=recently)] == [fresh.pk]
    later = NOW + timedelta(seconds=5)
    assert [order.id for order in open_orders(not_delivered_since=later)] == [delivered.pk, fresh.pk]


def test_done_twice_is_done_once() -> None:
    """The first time stays; what is done is not delivered again."""
    command = write(uuid4(), 1)
    assert mark_orders_done([command.pk], now=NOW) == 1
    assert mark_orders_done([command.pk, 999_999_999], now=NOW + timedelta(hours=1)) == 0
    assert mark_orders_delivered([command.pk], now=NOW) == 0
    command.refresh_from_db()
    assert command.done_at == NOW


def test_a_number_is_given_once_per_attempt() -> None:
    """Two writers without the attempt's lock are found out."""
    attempt_id = uuid4()
    write(attempt_id, 1)
    write(uuid4(), 1)
    with pytest.raises(IntegrityError, match="command_seq_once_per_attempt"), transaction.atomic():
        write(attempt_id, 1)


@committing
def test_an_absent_redis_fails_no_command(without_redis: None) -> None:
    """The poll's own time-out finds it."""
    with transaction.atomic():
        command = write(uuid4(), 1)
    assert [order.id for order in open_orders()] == [command.pk]


@committing
def test_the_relay_wakes_the_conductor_for_what_lies_undelivered(listen: Any) -> None:
    """The wake-up was lost; what is delivered needs none."""
    command = Command.objects.create(attempt_id=uuid4(), seq=1, kind="launch", payload={}, created_at=NOW)
    listener = listen(ORDERS_CHANNEL)
    relay_events(now=NOW)
    assert listener.heard() == [{"type": "orders"}]
    mark_orders_delivered([command.pk], now=NOW)
    relay_events(now=NOW)
    assert listener.heard() == []
