"""What must hold of every plan for small clusters with elastic jobs, lost workers and leaving ones."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from scheduling.decide import decide
from scheduling.invariants import check
from scheduling.model import Growth, JobPhase, Order, Policy
from scheduling.snapshot import Snapshot
from tests.scheduling.rows import carried_out, elastic_snapshots, gone

NOW_MS = 100_000
POLICIES = [
    Policy(),
    Policy(growth=Growth.MOST),
    Policy(shares_surplus=True),
    Policy(growth=Growth.MOST, shares_surplus=True),
    Policy(order=Order.STRICT_FIFO, min_runtime_ms=70_000),
]
NAMES = ["wanted", "most", "shared", "most, shared", "strict"]


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
@given(rows=elastic_snapshots())
@settings(max_examples=80, deadline=None)
def test_no_plan_breaks_an_invariant(policy: Policy, rows: Snapshot) -> None:
    """Devices, gangs, sizes, limits, victims: now, and a step later when those who leave are gone."""
    plan = decide(rows, NOW_MS, policy)
    assert check(rows, plan) == []
    later = gone(carried_out(rows, plan, now_ms=NOW_MS))
    assert check(later, decide(later, NOW_MS + 1, policy)) == []


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
@given(rows=elastic_snapshots())
@settings(max_examples=80, deadline=None)
def test_deciding_again_on_the_result_changes_nothing(policy: Policy, rows: Snapshot) -> None:
    """Nobody starts, leaves or changes size, and what was kept is kept, while those who leave still hold."""
    plan = decide(rows, NOW_MS, policy)
    again = decide(carried_out(rows, plan, now_ms=NOW_MS), NOW_MS, policy)
    assert (again.starts, again.evictions, again.resizes, again.repairs) == ((), (), (), ())
    assert again.keeps == plan.keeps


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
@given(rows=elastic_snapshots())
@settings(max_examples=60, deadline=None)
def test_changes_come_to_rest(policy: Policy, rows: Snapshot) -> None:
    """With the leavers gone at once each time, a few plans later nothing changes any more."""
    for _ in range(12):
        plan = decide(rows, NOW_MS, policy)
        rows = gone(carried_out(rows, plan, now_ms=NOW_MS))
        if not (plan.starts or plan.evictions or plan.resizes or plan.repairs):
            return
    raise AssertionError("it goes on and on")


@given(rows=elastic_snapshots())
@settings(max_examples=100, deadline=None)
def test_the_order_of_the_rows_does_not_matter(rows: Snapshot) -> None:
    """Equal rows in any order give an equal plan."""
    policy = Policy(growth=Growth.MOST, shares_surplus=True)
    mixed = Snapshot.of(
        nodes=rows.nodes[::-1], queues=rows.queues[::-1], jobs=rows.jobs[::-1], levels=rows.levels
    )
    assert decide(mixed, NOW_MS, policy) == decide(rows, NOW_MS, policy)


@given(rows=elastic_snapshots())
@settings(max_examples=100, deadline=None)
def test_growth_leaves_nobody_waiting_who_could_have_started(rows: Snapshot) -> None:
    """Without the elastic jobs' growth the same jobs would have started."""
    plan = decide(rows, NOW_MS, Policy(growth=Growth.MOST))
    plain = [replace(row, num_workers=row.least_workers, max_workers=None) for row in rows.jobs]
    pairs = zip(rows.jobs, plain, strict=True)
    stuck = tuple(least if row.phase is JobPhase.WAITING else row for row, least in pairs)
    small = decide(replace(rows, jobs=stuck), NOW_MS, Policy())
    assert {start.job for start in plan.starts} == {start.job for start in small.starts}
