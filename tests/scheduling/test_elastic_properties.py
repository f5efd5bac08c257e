"""What must hold of every plan for small clusters with elastic jobs, lost workers and leaving ones."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings

from scheduling.decide import decide
from scheduling.invariants import check
from scheduling.model import Growth, Job, JobPhase, Order, Placement, Policy
from scheduling.snapshot import Snapshot
from tests.scheduling import brute
from tests.scheduling.rows import carried_out, elastic_snapshots, full_snapshots, gone

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
def test_a_snapshot_handed_on_gives_the_plan_of_its_rows(rows: Snapshot) -> None:
    """Carried out as an event on the old snapshot, or built from all rows."""
    policy = Policy(growth=Growth.MOST)
    after = carried_out(rows, decide(rows, NOW_MS, policy), now_ms=NOW_MS)
    for now in (after, gone(after)):
        rows = rows.with_event(jobs=now.jobs)
        assert decide(rows, NOW_MS + 1, policy) == decide(now, NOW_MS + 1, policy)


@pytest.mark.parametrize("policy", [Policy(), Policy(shares_surplus=True)], ids=["by right", "shared"])
@given(rows=full_snapshots())
@settings(max_examples=150, deadline=None)
def test_no_piece_of_surplus_is_taken_needlessly(policy: Policy, rows: Snapshot) -> None:
    """With any one piece left where it is, the job could not start; nor is a whole job evicted needlessly."""
    plan = decide(rows, NOW_MS, policy)
    after = carried_out(rows, plan, now_ms=NOW_MS)
    winner = next(row for row in after.jobs if row.id == "w")
    before = {row.id: row for row in rows.jobs}
    for victim in (row for row in after.jobs if plan.keeps and row.id != "w"):
        held = before[victim.id].placement
        pieces = [held] if victim.phase is JobPhase.LEAVING else list(_pieces(victim))
        for piece in pieces:
            staying = [] if victim.phase is JobPhase.LEAVING else list(victim.placement)
            undone = replace(victim, phase=JobPhase.PLACED, placement=(*staying, *piece))
            jobs = tuple(undone if row.id == victim.id else row for row in after.jobs)
            assert not brute.can_start_beside(replace(after, jobs=jobs), winner, undone, [])


def _pieces(row: Job) -> Iterator[Placement]:
    """The workers that leave in a shrink for somebody, in steps."""
    step = row.step_workers
    for first in range(0, len(row.releasing), step):
        yield row.releasing[first : first + step]


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
