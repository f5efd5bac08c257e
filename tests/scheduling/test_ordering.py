"""Orders by service and by run time: levels, ageing, who may evict whom; scalars and columns agree."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.decide import decide
from scheduling.invariants import check
from scheduling.model import Job, Order, Policy, Runtimes
from scheduling.ordering import Ranking
from scheduling.snapshot import Snapshot
from tests.scheduling.building import evicted, job, node, plan, running, started
from tests.scheduling.rows import carried_out, snapshots

MINUTE_MS = 60_000
LEAST = Policy(order=Order.LEAST_ATTAINED)
DAMPED = Policy(order=Order.LEAST_ATTAINED, damps_size=True)
SHORTEST = Policy(order=Order.SHORTEST_REMAINING, runtimes=Runtimes.PREDICTIONS)
NOW_MS = 100_000


def served(name: str, seconds: int, **changes: object) -> Job:
    """A waiting one-device job that got so much service in earlier attempts."""
    return replace(job(name), attained_milli_ms=seconds * 1_000_000, **changes)  # type: ignore[arg-type]


def test_least_service_comes_first_and_levels_double() -> None:
    """Levels begin at 300, 600, 1,200 device-seconds; inside one the earlier submit comes first."""
    rows = [served("old", 1300, submitted_at_ms=0), served("b", 299, submitted_at_ms=5), served("a", 0)]
    result = plan([node("n1", 2)], [*rows, served("late", 100, submitted_at_ms=9)], policy=LEAST)
    assert started(result).keys() == {"a", "b"}


def test_who_needs_least_by_prediction_comes_first_inside_a_level() -> None:
    """Equal service: the shorter predicted run time first, unknown last."""
    rows = [served("x", 0), served("long", 0, predicted_ms=9_000), served("short", 0, predicted_ms=1_000)]
    policy = replace(LEAST, runtimes=Runtimes.PREDICTIONS)
    assert started(plan([node("n1", 1)], rows, policy=policy)).keys() == {"short"}


def test_a_newcomer_evicts_whoever_got_most_service() -> None:
    """Equal priority gives way by level of service, the worst level first, whatever it would lose."""
    rows = [
        running(served("much", 50_000), "n1:0", since=99),
        running(served("some", 2_000), "n1:1", since=0),
        served("new", 0),
    ]
    result = plan([node("n1", 2)], rows, policy=LEAST)
    assert evicted(result) == {"much"}


def test_equal_levels_leave_each_other_alone() -> None:
    """Both below the first level: nobody is evicted."""
    result = plan(
        [node("n1", 1)], [running(served("a", 100), "n1:0", since=95), served("b", 0)], policy=LEAST
    )
    assert evicted(result) == set()


def test_damped_service_lets_gangs_run_on() -> None:
    """Sixteen devices for 100 s count 1,600 device-seconds, or 400 by the square root of the size."""
    gang = running(job("gang", 16), "n1:" + ",".join(map(str, range(16))), since=0)
    newcomer = served("one", 500)  # the second level: 300 to 600
    assert evicted(plan([node("n1", 16)], [gang, newcomer], policy=LEAST)) == {"gang"}
    assert evicted(plan([node("n1", 16)], [gang, newcomer], policy=DAMPED)) == set()


def test_waiting_takes_time_off_a_long_job() -> None:
    """With ageing of 50 %, 20 minutes of waiting are worth 10 minutes of run time."""
    old = job("old", at=0, max_runtime_ms=15 * MINUTE_MS)
    new = job("new", at=1200, max_runtime_ms=6 * MINUTE_MS)
    shortest = Policy(order=Order.SHORTEST_REMAINING, preempts=False)
    nodes = [node("n1", 1)]
    assert started(plan(nodes, [old, new], at=1200, policy=shortest)).keys() == {"new"}
    aged = replace(shortest, ageing_percent=50)
    assert started(plan(nodes, [old, new], at=1200, policy=aged)).keys() == {"old"}


def test_without_preemption_nobody_of_the_queue_is_evicted() -> None:
    """Neither by priority nor by service."""
    rows = [running(job("low", 4), "n1:0,1,2,3"), job("high", 4, priority=5)]
    assert evicted(plan([node("n1", 4)], rows, policy=Policy(preempts=False))) == set()
    assert evicted(plan([node("n1", 4)], rows)) == {"low"}


def test_a_plan_evicts_no_more_than_its_budget() -> None:
    """The first claim takes what it needs, or it would wait for ever; the next ones keep to what is left."""
    rows = [
        running(job(name, 2), place) for name, place in (("a", "n1:0,1"), ("b", "n1:2,3"), ("c", "n2:0,1"))
    ]
    first, second = job("first", 4, priority=6), job("second", 2, priority=5)
    nodes = [node("n1", 4), node("n2", 2)]
    few, more = (plan(nodes, [*rows, first, second], policy=Policy(max_evictions=n)) for n in (1, 3))
    assert evicted(few) == {"a", "b"}
    assert evicted(more) == {"a", "b", "c"}


@pytest.mark.parametrize("policy", [LEAST, DAMPED, SHORTEST], ids=["least", "damped", "shortest"])
@given(attained=st.integers(0, 10**13), predicted=st.integers(0, 10**9), size=st.sampled_from([1, 2, 8]))
@settings(max_examples=60, deadline=None)
def test_a_job_that_starts_now_ranks_as_it_did_while_it_waited(
    policy: Policy, attained: int, predicted: int, size: int
) -> None:
    """The rank of one job and the ranks of columns of holdings are the same number."""
    waiting = replace(job("a", size), attained_milli_ms=attained, predicted_ms=predicted)
    places = "n1:" + ",".join(map(str, range(size)))
    placed = replace(running(waiting, places), placed_at_ms=NOW_MS)
    rows = Snapshot.of(nodes=[node("n1", 8)], queues=[], jobs=[placed], levels=("node",))
    ranking = Ranking(policy, now_ms=NOW_MS)
    holdings = rows.books.holdings.at(NOW_MS, ranking)
    assert holdings.ranks().tolist() == [ranking.rank_of(waiting)]


@pytest.mark.parametrize("policy", [LEAST, DAMPED, SHORTEST], ids=["least", "damped", "shortest"])
@given(rows=snapshots(), data=st.data())
@settings(max_examples=40, deadline=None)
def test_orders_by_service_keep_the_invariants_and_settle(
    policy: Policy, rows: Snapshot, data: st.DataObject
) -> None:
    """Whatever service was given: lawful plans, and nothing more to do on the result."""
    seconds = st.sampled_from([0, 100, 400, 5_000, 10**6])
    rows = rows.with_event(
        jobs=[
            replace(row, attained_milli_ms=data.draw(seconds) * 1_000_000, predicted_ms=data.draw(seconds))
            for row in rows.jobs
        ]
    )
    result = decide(rows, NOW_MS, policy)
    assert check(rows, result) == []
    again = decide(carried_out(rows, result, now_ms=NOW_MS), NOW_MS, policy)
    assert (again.starts, again.evictions) == ((), ())
