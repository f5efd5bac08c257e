"""Running gangs that lost workers: who replaces them, and what happens when nobody can."""

from dataclasses import replace

import pytest

from scheduling.decide import decide
from scheduling.model import EvictionKind, Job, JobPhase, Node, Plan, Policy, ReasonCode, Window
from tests.scheduling.building import (
    evicted,
    job,
    leaving,
    node,
    on,
    plan,
    queue,
    required,
    running,
    shown,
    snapshot,
    started,
)
from tests.scheduling.rows import carried_out

TWO = [node("n1", rack="a"), node("n2", rack="b")]
GANG = running(job("g", 1, workers=4), "n1:0", "n1:1", "n1:2", num_missing=1)
BUSY = running(job("busy", 1), "n1:3")


def repaired(result: Plan) -> dict[str, str]:
    """The whole place of each repaired gang."""
    return {repair.job: shown(repair.placement) for repair in result.repairs}


def kinds(result: Plan) -> dict[str, tuple[str, EvictionKind]]:
    """For whom and by which right each victim leaves."""
    return {each.job: (each.beneficiary, each.kind) for each in result.evictions}


def kept(result: Plan) -> dict[str, str]:
    """What is kept for whom."""
    return {keep.job: shown(keep.placement) for keep in result.keeps}


PLACES: dict[str, tuple[list[Node], list[Job], Job, str]] = {
    "beside the survivors": (TWO, [], GANG, "n1:0 n1:1 n1:2 n1:3"),
    "elsewhere, if nothing is free there": (TWO, [BUSY], GANG, "n1:0 n1:1 n1:2 n2:0"),
    "on the accelerator type of the gang": (
        [TWO[0], node("n2", accelerator_type="y"), node("n3")],
        [BUSY],
        GANG,
        "n1:0 n1:1 n1:2 n3:0",
    ),
    "in the domain that the survivors fix": (
        [TWO[0], node("n2", rack="b"), node("n3", rack="a")],
        [BUSY],
        replace(GANG, topology=required("rack")),
        "n1:0 n1:1 n1:2 n3:0",
    ),
    "anywhere, if nobody survived": (
        TWO,
        [BUSY],
        replace(GANG, placement=(), num_missing=4),
        "n2:0 n2:1 n2:2 n2:3",
    ),
    "in the link domain of the tensor group": (
        [node("n1", links=("l", "l", "m", "m")), node("n2", links=("m", "m", "o", "o"))],
        [],
        running(job("g", 1, workers=4, group_workers=2), "n1:0", "n1:1", "n1:2", num_missing=1),
        "n1:0 n1:1 n1:2 n1:3",
    ),
    "as a whole group, if a whole one was lost": (
        [node("n1", links=("l", "l", "m", "m")), node("n2", links=("o", "p", "p", "q"))],
        [running(job("busy", 1), "n1:2")],
        running(job("g", 1, workers=4, group_workers=2), "n1:0", "n1:1", num_missing=2),
        "n1:0 n1:1 n2:1 n2:2",
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_missing_workers_are_replaced(name: str) -> None:
    """The survivors stay where they are."""
    nodes, others, gang, place = PLACES[name]
    result = plan(nodes, [gang, *others])
    assert repaired(result) == {"g": place}
    assert (evicted(result), result.resizes) == (set(), ())


def test_a_gang_that_misses_somebody_comes_before_every_newcomer() -> None:
    """Also before one of higher priority, who could take the last device and more."""
    result = plan([TWO[0]], [GANG, job("urgent", 1, queue="p", priority=9)])
    assert repaired(result) == {"g": "n1:0 n1:1 n1:2 n1:3"}
    assert started(result) == {}


def test_what_is_kept_for_another_job_is_not_taken_for_a_repair() -> None:
    """It was promised before."""
    winner = job("winner", 1, workers=4, priority=1, kept=on("n1:3", "n2:0", "n2:1", "n2:2"))
    victim = leaving(running(job("victim", 3), "n2:0,1,2"))
    result = plan(TWO, [replace(GANG, priority=1), victim, winner])
    assert repaired(result) == {"g": "n1:0 n1:1 n1:2 n2:3"}
    assert kept(result) == {"winner": "n1:3 n2:0 n2:1 n2:2"}


def test_limits_bind_a_repair_as_they_bind_a_start() -> None:
    """Somebody took the share that the lost worker left, so the gang cannot be whole."""
    other = running(job("other", 1), "n2:0")
    result = plan(TWO, [GANG, other], [queue("q", limit=4)])
    assert (repaired(result), kinds(result)) == ({}, {"g": ("g", EvictionKind.INCOMPLETE)})


def test_replacements_that_are_being_freed_are_waited_for() -> None:
    """The gang holds nothing meanwhile, all or none, but its whole place is kept for it."""
    nodes, rows = [TWO[0]], [GANG, leaving(BUSY), job("newcomer", 1)]
    result = plan(nodes, rows)
    assert kept(result) == {"g": "n1:0 n1:1 n1:2 n1:3"}
    assert kinds(result) == {"g": ("g", EvictionKind.INCOMPLETE)}
    after = carried_out(snapshot(nodes, rows), result, now_ms=100_000)
    again = plan(nodes, after.jobs)
    assert (kept(again), evicted(again)) == (kept(result), set())
    gang = replace(after.jobs[1], phase=JobPhase.WAITING, placement=(), placed_at_ms=None, num_missing=0)
    waits = plan(nodes, [gang, after.jobs[0], after.jobs[2]])
    assert waits.reasons[gang.id].code is ReasonCode.WAITS_VICTIMS
    assert started(plan(nodes, [gang, after.jobs[2]])) == {"g": "n1:0 n1:1 n1:2 n1:3"}


def test_a_gang_evicts_for_its_members_whom_it_could_evict_for_itself() -> None:
    """A lower priority in its queue; its whole place is kept for it until the victim has left."""
    rows = [replace(GANG, priority=1), BUSY]
    result = plan([TWO[0]], rows)
    assert kinds(result) == {
        "busy": ("g", EvictionKind.PREEMPT),
        "g": ("g", EvictionKind.INCOMPLETE),
    }
    assert kept(result) == {"g": "n1:0 n1:1 n1:2 n1:3"}


def test_it_evicts_inside_its_own_domain_only() -> None:
    """The cheaper victim is in the other rack."""
    nodes = [*TWO, node("n3", rack="a")]
    rows = [
        replace(GANG, priority=1, topology=required("rack")),
        replace(BUSY, preemptible=False),
        running(job("cheap", 4), "n2:0,1,2,3", since=100),
        running(job("dear", 4), "n3:0,1,2,3"),
    ]
    result = plan(nodes, rows)
    assert (evicted(result), kept(result)) == ({"dear", "g"}, {"g": "n1:0 n1:1 n1:2 n3:0"})


def test_a_gang_reclaims_for_its_members_within_its_guarantee() -> None:
    """From a queue above its own."""
    other = replace(BUSY, queue=queue("p").path, priority=9)
    result = plan([TWO[0]], [GANG, other], [queue("q", guarantee=4), queue("p")])
    assert kinds(result)["busy"] == ("g", EvictionKind.RECLAIM)


def test_surplus_is_taken_for_a_repair_before_whole_jobs() -> None:
    """The elastic neighbour shrinks by one."""
    other = running(job("e", 1, workers=2, min_workers=1), "n2:0", "n2:1")
    result = plan([TWO[0], node("n2", 2)], [replace(GANG, priority=1), BUSY, other])
    assert [(r.job, shown(r.placement), r.beneficiary) for r in result.resizes] == [("e", "n2:0", "g")]
    assert kept(result) == {"g": "n1:0 n1:1 n1:2 n2:1"}


def test_an_elastic_gang_goes_on_with_its_survivors() -> None:
    """At an allowed size, in whole steps."""
    gang = replace(GANG, num_workers=4, min_workers=2, max_workers=4)
    result = plan([TWO[0]], [gang, BUSY])
    assert [shown(change.placement) for change in result.resizes] == ["n1:0 n1:1 n1:2"]
    result = plan([TWO[0]], [replace(gang, step_workers=2), BUSY])
    assert [shown(change.placement) for change in result.resizes] == ["n1:0 n1:1"]


def test_an_elastic_gang_keeps_only_whole_tensor_groups() -> None:
    """The survivor of the broken group leaves, whatever its rank."""
    nodes = [node("n1", links=("l", "l", "m", "m"))]
    gang = running(
        job("g", 1, workers=4, min_workers=2, group_workers=2), "n1:0", "n1:2", "n1:3", num_missing=1
    )
    busy = running(job("busy", 1), "n1:1")
    result = plan(nodes, [gang, busy])
    assert [shown(change.placement) for change in result.resizes] == ["n1:2 n1:3"]


@pytest.mark.parametrize("least", [None, 4], ids=["rigid", "too few left"])
def test_a_gang_that_cannot_be_whole_leaves(least: int | None) -> None:
    """Nobody holds devices in vain: it holds all or nothing."""
    result = plan([TWO[0]], [replace(GANG, min_workers=least), BUSY])
    assert kinds(result) == {"g": ("g", EvictionKind.INCOMPLETE)}
    assert (repaired(result), result.resizes, result.keeps) == ({}, (), ())


def test_a_gang_that_leaves_is_not_robbed_of_another_place() -> None:
    """The other rack has room for all of it; nobody takes that while it leaves, and then it starts there."""
    rows = [replace(GANG, topology=required("rack")), BUSY, job("newcomer", 1)]
    result = plan(TWO, rows)
    assert kinds(result) == {"g": ("g", EvictionKind.INCOMPLETE)}
    assert (kept(result), started(result)) == ({"g": "n2:0 n2:1 n2:2 n2:3"}, {})
    assert result.reasons[rows[2].id].code is ReasonCode.KEPT_FOR_OTHER
    after = carried_out(snapshot(TWO, rows), result, now_ms=100_000)
    assert kept(plan(TWO, after.jobs)) == kept(result)
    gang, *others = sorted(after.jobs, key=lambda row: row.id != "g")
    gang = replace(gang, phase=JobPhase.WAITING, placement=(), placed_at_ms=None, num_missing=0)
    assert started(plan(TWO, [gang, *others]))["g"] == "n2:0 n2:1 n2:2 n2:3"


def test_a_keep_that_became_impossible_is_replaced_by_another() -> None:
    """The node on which a device was being freed for it is lost as well."""
    gang = replace(GANG, kept=on("n3:0"))
    nodes = [TWO[0], node("n3", usable=False), node("n4", 1)]
    result = plan(nodes, [gang, BUSY])
    assert (repaired(result), kept(result)) == ({"g": "n1:0 n1:1 n1:2 n4:0"}, {})


def test_a_gang_that_wants_less_by_now_needs_no_replacement() -> None:
    """Two of its three survivors are enough."""
    result = plan(TWO, [replace(GANG, num_workers=2, min_workers=1, max_workers=4)])
    assert [shown(change.placement) for change in result.resizes] == ["n1:0 n1:1"]
    assert repaired(result) == {}


def test_a_repaired_gang_grows_in_the_same_plan() -> None:
    """One restart for both: the repair has the whole place."""
    gang = replace(GANG, num_workers=6, min_workers=2, max_workers=6)
    result = plan(TWO, [gang])
    assert repaired(result) == {"g": "n1:0 n1:1 n1:2 n1:3 n2:0 n2:1"}
    assert result.resizes == ()


def test_no_replacement_comes_from_a_node_that_a_window_closes() -> None:
    """The gang is not known to end before it, so it takes the device that is farther away."""
    nodes = [*TWO, node("n3", rack="c")]
    window = Window(name="w", nodes=frozenset({nodes[1].name}), starts_at_ms=200_000, ends_at_ms=300_000)
    rows = replace(snapshot(nodes, [GANG, BUSY]), windows=(window,))
    assert repaired(decide(rows, 100_000, Policy())) == {"g": "n1:0 n1:1 n1:2 n3:0"}


def test_the_first_in_turn_is_repaired_first() -> None:
    """By priority, then by first submit."""
    late = running(job("late", 1, workers=2, at=9), "n2:0", num_missing=1)
    early = running(job("early", 1, workers=2, at=1), "n2:1", num_missing=1)
    result = plan([node("n2", 3)], [late, early], policy=Policy())
    assert repaired(result) == {"early": "n2:1 n2:2"}
    assert kinds(result) == {"late": ("late", EvictionKind.INCOMPLETE)}
