"""Elastic gangs of equal standing share devices by what these are worth to each."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings

from scheduling.balance import compact_part
from scheduling.decide import decide
from scheduling.invariants import check
from scheduling.model import Growth, Job, JobPhase, NodeName, Placement, Policy, Worker
from scheduling.snapshot import Snapshot
from tests.scheduling.building import job, node, snapshot
from tests.scheduling.rows import carried_out, elastic_snapshots, gone

NOW_MS = 100_000
BALANCED = Policy(growth=Growth.BALANCED, shares_surplus=True)
SCALES = ((1, 1000), (2, 2000), (4, 4000), (8, 8000))
FLAT = ((1, 1000), (2, 1050), (4, 1100), (8, 1150))


def elastic(name: str, *, on: tuple[str, ...] = (), **changes: Any) -> Job:
    """A gang of one to eight workers with one device each, running on these nodes' first devices."""
    row = replace(job(name), min_workers=1, max_workers=8, speeds=SCALES, remaining_ms=3_600_000)
    row = replace(row, **changes)
    if not on:
        return row
    held = tuple(
        Worker(node=NodeName(each), devices=(on[:rank].count(each),)) for rank, each in enumerate(on)
    )
    return replace(row, phase=JobPhase.PLACED, placement=held, placed_at_ms=0)


def settled(rows: Snapshot, policy: Policy = BALANCED) -> dict[str, Placement]:
    """What everybody holds when nothing changes any more, those who leave being gone at once."""
    for _ in range(12):
        plan = decide(rows, NOW_MS, policy)
        if not (plan.starts or plan.evictions or plan.resizes or plan.repairs):
            break
        rows = gone(carried_out(rows, plan, now_ms=NOW_MS))
    return {str(row.id): row.placement for row in rows.jobs}


def test_a_newcomer_gets_its_share_of_what_one_job_had() -> None:
    """Two jobs alike end with one node each, and neither lies across both."""
    rows = snapshot([node("a"), node("b")], [elastic("old", on=("a",) * 4 + ("b",) * 4), elastic("new")])
    sizes = settled(rows)
    assert [len(sizes[name]) for name in ("old", "new")] == [4, 4]
    assert [len({worker.node for worker in sizes[name]}) for name in ("old", "new")] == [1, 1]


def test_devices_go_to_the_job_that_scales() -> None:
    """A job that gains little from its surplus gives it to one that gains much."""
    flat = elastic("flat", on=("a",) * 3, speeds=FLAT)
    rows = snapshot([node("a")], [flat, replace(elastic("steep"), speeds=SCALES)])
    sizes = settled(rows)
    assert len(sizes["flat"]) < len(sizes["steep"])


def test_a_gain_smaller_than_the_restart_changes_nothing() -> None:
    """Idle devices are left idle where nobody would gain enough by them."""
    rows = snapshot([node("a")], [elastic("flat", on=("a",) * 2, speeds=FLAT, restart_cost_ms=30_000)])
    assert decide(rows, NOW_MS, BALANCED).resizes == ()


def test_a_job_about_to_end_is_not_restarted() -> None:
    """What it would save is less than what the restart takes."""
    ending = elastic("ending", on=("a",), restart_cost_ms=30_000, remaining_ms=60_000)
    later = replace(ending, remaining_ms=3_600_000)
    assert decide(snapshot([node("a")], [ending]), NOW_MS, BALANCED).resizes == ()
    assert decide(snapshot([node("a")], [later]), NOW_MS, BALANCED).resizes != ()


def test_a_gang_grows_onto_whole_nodes() -> None:
    """Beyond one node it takes all of another, or stays: a rest would block a node for somebody else."""
    rigid = replace(job("rigid"), phase=JobPhase.PLACED, placed_at_ms=0)
    rigid = replace(rigid, placement=(Worker(node=NodeName("b"), devices=(0,)),))
    sizes = settled(snapshot([node("a"), node("b")], [elastic("e", on=("a",) * 2), rigid]))
    assert len(sizes["e"]) == 4
    assert {worker.node for worker in sizes["e"]} == {"a"}


def test_who_restarts_anyway_leaves_a_whole_node_to_others() -> None:
    """Two halves of nodes become one node, but not if that costs a restart."""
    pair = [elastic(name, on=(at,) * 2, max_workers=2) for name, at in (("one", "a"), ("two", "b"))]
    sizes = settled(snapshot([node("a"), node("b")], pair))
    assert len({worker.node for held in sizes.values() for worker in held}) == 1
    costly = [replace(row, restart_cost_ms=30_000) for row in pair]
    assert decide(snapshot([node("a"), node("b")], costly), NOW_MS, BALANCED).resizes == ()


def test_the_fullest_nodes_stay_when_a_gang_shrinks() -> None:
    """One worker alone on a node goes before those side by side."""
    alone, pair = Worker(node=NodeName("a"), devices=(0,)), Worker(node=NodeName("b"), devices=(0,))
    other = replace(pair, devices=(1,))
    assert compact_part((alone, pair, other), 2, group=1) == (pair, other)
    assert compact_part((alone, pair, other), 2, group=2) == (alone, pair)


@given(rows=elastic_snapshots())
@settings(max_examples=60, deadline=None)
def test_no_balanced_plan_breaks_an_invariant(rows: Snapshot) -> None:
    """Devices, gangs, sizes, limits, victims: now, and a step later when those who leave are gone."""
    plan = decide(rows, NOW_MS, BALANCED)
    assert check(rows, plan) == []
    later = gone(carried_out(rows, plan, now_ms=NOW_MS))
    assert check(later, decide(later, NOW_MS + 1, BALANCED)) == []


@given(rows=elastic_snapshots())
@settings(max_examples=60, deadline=None)
def test_balancing_again_on_the_result_changes_nothing(rows: Snapshot) -> None:
    """While those who leave still hold their devices."""
    plan = decide(rows, NOW_MS, BALANCED)
    again = decide(carried_out(rows, plan, now_ms=NOW_MS), NOW_MS, BALANCED)
    assert (again.starts, again.evictions, again.resizes, again.repairs) == ((), (), (), ())


@given(rows=elastic_snapshots())
@settings(max_examples=40, deadline=None)
def test_balancing_comes_to_rest(rows: Snapshot) -> None:
    """With the leavers gone at once each time, a few plans later nothing changes any more."""
    for _ in range(16):
        plan = decide(rows, NOW_MS, BALANCED)
        rows = gone(carried_out(rows, plan, now_ms=NOW_MS))
        if not (plan.starts or plan.evictions or plan.resizes or plan.repairs):
            return
    raise AssertionError("it goes on and on")


@given(rows=elastic_snapshots())
@settings(max_examples=40, deadline=None)
def test_balance_does_not_depend_on_the_order_of_rows(rows: Snapshot) -> None:
    """Equal rows in any order give an equal plan."""
    mixed = Snapshot.of(
        nodes=rows.nodes[::-1], queues=rows.queues[::-1], jobs=rows.jobs[::-1], levels=rows.levels
    )
    assert decide(mixed, NOW_MS, BALANCED) == decide(rows, NOW_MS, BALANCED)
