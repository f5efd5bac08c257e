"""Orders on their way down: in order, at least once, and never two launches of one attempt."""

import pytest

from cluster.errors import StaleEpoch
from eventlog.models import Command
from jobs.services.orders import REDELIVERED_AFTER, finish_orders, take_orders, take_over
from jobs.services.stop import cancel_job
from ray_runtime.protocol import LaunchSpec, OrderKind, ReportKind
from tests.jobs.builders import World, at


def test_orders_come_oldest_first_and_once(world: World) -> None:
    """What was handed over is not handed over again at once."""
    job = world.submit()
    attempt = world.place(job)
    cancel_job(user=world.cast.owner, job_id=job.id, now=at(0.1))
    orders = take_orders(epoch=world.epoch, now=at(1))
    assert [order.kind for order in orders] == [OrderKind.LAUNCH, OrderKind.STOP]
    assert {order.attempt_id for order in orders} == {str(attempt.id)}
    assert take_orders(epoch=world.epoch, now=at(2)) == []


def test_an_order_that_was_not_acknowledged_comes_again(world: World) -> None:
    """The answer that carried it may have been lost."""
    world.place(world.submit())
    (order,) = take_orders(epoch=world.epoch, now=at(0))
    later = at(0) + REDELIVERED_AFTER * 1.01
    assert [again.id for again in take_orders(epoch=world.epoch, now=later)] == [order.id]
    assert finish_orders([order.id], epoch=world.epoch, now=later) == 1
    assert finish_orders([order.id], epoch=world.epoch, now=later) == 0
    assert take_orders(epoch=world.epoch, now=at(3600)) == []


def test_a_replaced_conductor_gets_and_closes_nothing(world: World) -> None:
    """Its epoch is over."""
    world.place(world.submit())
    old = world.epoch
    take_over(incarnation="conductor-2", now=at(1))
    with pytest.raises(StaleEpoch):
        take_orders(epoch=old, now=at(1))
    with pytest.raises(StaleEpoch):
        finish_orders([Command.objects.get().id], epoch=old, now=at(1))


def test_a_new_conductor_is_told_what_lives_and_gets_unfinished_orders_at_once(world: World) -> None:
    """The launches of what lives as they were ordered; one that has ended is not launched again."""
    _running, first = world.running()
    ordered = take_orders(epoch=world.epoch, now=at(1))
    finish_orders([ordered[0].id], epoch=world.epoch, now=at(1))
    second = world.place(world.submit(), nodes=("n2",))
    take_orders(epoch=world.epoch, now=at(2))
    _ended, third = world.running()
    world.end(third)
    taken = take_over(incarnation="conductor-2", now=at(2.1))
    assert taken.epoch == world.epoch + 1
    assert [launch.attempt_id for launch in taken.attempts] == [str(first.id), str(second.id)]
    assert taken.attempts[0] == LaunchSpec.from_json(Command.objects.get(attempt_id=first.id).payload)
    assert taken.reported == {str(first.id): "running"}
    again = take_orders(epoch=taken.epoch, now=at(2.2))
    assert [order.attempt_id for order in again] == [str(second.id)]


def test_the_conductor_in_charge_may_ask_again(world: World) -> None:
    """The answer to its taking over was lost: the same epoch."""
    first = take_over(incarnation="conductor-2", now=at(1))
    assert take_over(incarnation="conductor-2", now=at(2)).epoch == first.epoch


def test_a_new_conductor_learns_which_reports_are_stored(world: World) -> None:
    """So that it repeats none."""
    silent, forming = world.place(world.submit()), world.place(world.submit(), nodes=("n2",))
    world.report(forming, ReportKind.FORMING)
    reported = take_over(incarnation="conductor-2", now=at(1)).reported
    assert reported == {str(forming.id): "forming"}
    assert str(silent.id) not in reported
