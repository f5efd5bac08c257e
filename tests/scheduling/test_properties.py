"""What must hold of every plan for every small cluster, tried by Hypothesis and against brute force."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.decide import decide
from scheduling.invariants import check
from scheduling.model import JobPhase, Order, Packing, Policy
from scheduling.snapshot import Snapshot
from tests.scheduling import brute
from tests.scheduling.rows import carried_out, devices, gone, snapshots

NOW_MS = 100_000
POLICIES = [
    Policy(),
    Policy(packing=Packing.SPREAD),
    Policy(packing=Packing.FRAGMENTATION),
    Policy(order=Order.STRICT_FIFO),
    Policy(min_runtime_ms=70_000),
]
NAMES = ["fair", "spread", "fragmentation", "strict", "minimum runtime"]


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
@given(rows=snapshots())
@settings(max_examples=60, deadline=None)
def test_no_plan_breaks_an_invariant(policy: Policy, rows: Snapshot) -> None:
    """Devices, gangs, limits, victims, reasons: now, and a step later when the victims are gone."""
    plan = decide(rows, NOW_MS, policy)
    assert check(rows, plan) == []
    later = gone(carried_out(rows, plan, now_ms=NOW_MS))
    assert check(later, decide(later, NOW_MS + 1, policy)) == []


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
@given(rows=snapshots())
@settings(max_examples=60, deadline=None)
def test_deciding_again_on_the_result_changes_nothing(policy: Policy, rows: Snapshot) -> None:
    """A plan that was carried out leaves nothing more to start or to evict, and keeps what it kept."""
    plan = decide(rows, NOW_MS, policy)
    again = decide(carried_out(rows, plan, now_ms=NOW_MS), NOW_MS, policy)
    assert again.starts == ()
    assert again.evictions == ()
    assert again.keeps == plan.keeps


@given(rows=snapshots(), seed=st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_the_order_of_the_rows_does_not_matter(rows: Snapshot, seed: int) -> None:
    """Equal rows in any order give an equal plan."""
    shuffler = random.Random(seed)

    def shuffled(items: tuple[object, ...]) -> list[object]:
        return shuffler.sample(list(items), len(items))

    mixed = Snapshot.of(
        nodes=shuffled(rows.nodes),  # type: ignore[arg-type]  # one helper for three kinds of rows
        queues=shuffled(rows.queues),  # type: ignore[arg-type]
        jobs=shuffled(rows.jobs),  # type: ignore[arg-type]
        levels=rows.levels,
    )
    assert decide(mixed, NOW_MS, Policy()) == decide(rows, NOW_MS, Policy())


@given(rows=snapshots())
@settings(max_examples=60, deadline=None)
def test_kept_devices_go_to_nobody_else(rows: Snapshot) -> None:
    """While victims leave one by one, what is kept stays free of other jobs until its job starts."""
    policy = Policy()
    plan = decide(rows, NOW_MS, policy)
    rows = carried_out(rows, plan, now_ms=NOW_MS)
    while leaving := [row for row in rows.jobs if row.phase is JobPhase.LEAVING]:
        first = replace(leaving[0], phase=JobPhase.WAITING, placement=(), placed_at_ms=None)
        rows = replace(rows, jobs=tuple(first if row.id == first.id else row for row in rows.jobs))
        kept = {keep.job: devices(keep.placement) for keep in plan.keeps}
        plan = decide(rows, NOW_MS, policy)
        keeping = {keep.job for keep in plan.keeps}
        starting = {start.job for start in plan.starts}
        assert kept.keys() <= keeping | starting | set(plan.gave_way)
        wholes = {row.id for row in rows.jobs if row.accelerators_milli >= 1000}  # halves may share one
        for start in plan.starts:
            assert not any(devices(start.placement) & kept[job] for job in keeping & kept.keys() & wholes)
        rows = carried_out(rows, plan, now_ms=NOW_MS)


@given(rows=snapshots(num_waiting=1))
@settings(max_examples=150, deadline=None)
def test_a_job_alone_starts_or_evicts_exactly_when_brute_force_finds_a_way(rows: Snapshot) -> None:
    """It starts if any place is free; else it evicts if any lawful set of victims is enough."""
    job = next(row for row in rows.jobs if row.phase is JobPhase.WAITING)
    plan = decide(rows, NOW_MS, Policy())
    best = brute.cheapest_victims(rows, job, now_ms=NOW_MS)
    assert bool(plan.starts) == brute.can_start_now(rows, job)
    assert bool(plan.evictions) == (not plan.starts and best is not None and bool(best[1]))


@given(rows=snapshots())
@settings(max_examples=100, deadline=None)
def test_no_victim_is_needless(rows: Snapshot) -> None:
    """Leaving any victim in place makes the start of its beneficiary impossible."""
    plan = decide(rows, NOW_MS, Policy())
    after = carried_out(rows, plan, now_ms=NOW_MS)
    for eviction in plan.evictions:
        victim = next(row for row in rows.jobs if row.id == eviction.job)
        winner = next(row for row in rows.jobs if row.id == eviction.beneficiary)
        others = [keep for keep in plan.keeps if keep.job != winner.id]
        assert not brute.can_start_beside(after, winner, victim, others)
