"""What the database believes against what the conductor holds."""

import pytest

from cluster.services import record_inventory
from eventlog.models import Command
from jobs.models import Attempt
from jobs.services.reconcile import Differences, reconcile
from tests.jobs.builders import World, at, fresh, inventory, used_milli

NOTHING = Differences()


def launch_done(attempt: Attempt, *, seconds: float = 0) -> None:
    """The conductor acknowledged the launch."""
    Command.objects.filter(attempt_id=attempt.id, kind="launch").update(done_at=at(seconds))


def test_an_attempt_that_the_conductor_lost_is_ended_after_a_while(world: World) -> None:
    """Not at the first look: the report of its end may be on its way."""
    job, attempt = world.running()
    launch_done(attempt)
    world.hear(now=at(20))
    assert reconcile(now=at(20)) == NOTHING
    world.hear(now=at(29))
    assert reconcile(now=at(29)) == NOTHING
    world.hear(now=at(30))
    assert reconcile(now=at(30)) == Differences(num_lost=1)
    again = fresh(job)
    assert (again.state, again.cause, again.node_retries_used, used_milli()) == ("queued", "unknown", 1, 0)


def test_an_attempt_that_is_back_counts_from_the_start(world: World) -> None:
    """Missing for five seconds, there again, missing again."""
    job, attempt = world.running()
    launch_done(attempt)
    for second, held in ((20, False), (25, True), (28, False), (36, False)):
        world.hear(*([attempt] if held else []), now=at(second))
        assert reconcile(now=at(second)) == NOTHING
    assert fresh(job).state == "running"


def test_a_launch_that_was_not_acknowledged_is_no_loss(world: World) -> None:
    """It is delivered again."""
    job, _attempt = world.running()
    for second in (20, 40):
        world.hear(now=at(second))
        assert reconcile(now=at(second)) == NOTHING
    assert fresh(job).state == "running"


@pytest.mark.parametrize("alive", [True, False])
def test_a_silent_conductor_is_no_death(world: World, alive: bool) -> None:
    """A transport error, a restart of the head, unreachable nodes: nothing is concluded about jobs."""
    job, attempt = world.running()
    launch_done(attempt)
    world.hear(now=at(1), alive=alive)
    for second in (20, 40, 4000):
        assert reconcile(now=at(second)) == NOTHING
    assert (fresh(job).state, used_milli()) == ("running", 4000)


def test_a_conductor_that_still_rebuilds_is_not_believed(world: World) -> None:
    """Absence means nothing until its table is complete."""
    job, attempt = world.running()
    launch_done(attempt)
    for second in (20, 40):
        world.hear(now=at(second), rebuilt=False)
        assert reconcile(now=at(second)) == NOTHING
    assert fresh(job).state == "running"


def test_an_unreachable_node_alone_ends_nothing_that_the_conductor_holds(world: World) -> None:
    """The conductor says when the attempt has ended."""
    job, attempt = world.running()
    launch_done(attempt)
    for second in (20, 40):
        world.hear(attempt, now=at(second), alive=False)
        assert reconcile(now=at(second)) == NOTHING
    assert fresh(job).state == "running"


def test_an_attempt_that_has_ended_here_is_stopped_there(world: World) -> None:
    """Once, and again only after a while."""
    _job, attempt = world.running()
    world.end(attempt)
    world.hear(attempt, now=at(5))
    assert reconcile(now=at(5)) == NOTHING  # just ended: the inventory may be older
    world.hear(attempt, now=at(20))
    assert reconcile(now=at(20)) == Differences(num_left_over=1)
    world.hear(attempt, now=at(25))
    assert reconcile(now=at(25)) == NOTHING
    world.hear(attempt, now=at(51))
    assert reconcile(now=at(51)) == Differences(num_left_over=1)
    stops = Command.objects.filter(attempt_id=attempt.id, kind="stop").order_by("seq")
    assert [order.payload["intent"] for order in stops] == ["cancel", "cancel"]


def test_names_that_are_no_ids_are_passed_over(world: World) -> None:
    """A newer conductor may hold what we do not know."""
    record_inventory(inventory(world.epoch, {"not an id": "running"}), now=at(1))
    assert reconcile(now=at(1)) == NOTHING
