"""Devices kept for a job: from the eviction to the start, and what happens when that becomes impossible."""

from dataclasses import replace

import pytest

from scheduling.model import Job, Node, Plan, Queue, ReasonCode
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
    started,
)

TWO = [node("n1", rack="a"), node("n2", rack="a")]
VICTIM = leaving(running(job("victim", 4), "n2:0,1,2,3"))
WINNER = job("winner", 4, workers=2, priority=1, kept=on("n1:0,1,2,3", "n2:0,1,2,3"))


def kept(result: Plan) -> dict[str, str]:
    """What is kept for whom."""
    return {keep.job: shown(keep.placement) for keep in result.keeps}


def test_devices_stay_kept_while_the_victim_leaves() -> None:
    """Nobody is evicted again, and the plan repeats what is kept."""
    result = plan(TWO, [VICTIM, WINNER])
    assert kept(result) == {"winner": "n1:0,1,2,3 n2:0,1,2,3"}
    assert (started(result), evicted(result)) == ({}, set())


def test_nobody_else_takes_them() -> None:
    """Not even a job of higher priority; it is told whom they are kept for."""
    urgent = job("urgent", 4, priority=9)
    result = plan(TWO, [VICTIM, WINNER, urgent])
    assert started(result) == {}
    reason = result.reasons[urgent.id]
    assert (reason.code, reason.params["job"]) == (ReasonCode.KEPT_FOR_OTHER, "winner")


def test_the_job_starts_there_when_the_victim_is_gone() -> None:
    """On just these devices, before anybody else."""
    result = plan(TWO, [WINNER, job("other", 4, queue="p", priority=9)])
    assert started(result) == {"winner": "n1:0,1,2,3 n2:0,1,2,3"}
    assert kept(result) == {}


def test_a_start_that_could_be_preempted_at_once_gives_way_without_an_eviction() -> None:
    """The urgent job of the same queue may evict it as soon as it runs, so it does not begin."""
    result = plan(TWO, [WINNER, job("urgent", 4, priority=9)])
    assert (started(result), evicted(result)) == ({"urgent": "n1:0,1,2,3"}, set())
    assert result.gave_way == ("winner",)


def test_the_job_starts_elsewhere_if_that_is_sooner() -> None:
    """The devices that it no longer needs go to others in the same plan."""
    result = plan([*TWO, node("n3", rack="b")], [VICTIM, WINNER, job("other", 2)])
    assert started(result) == {"winner": "n1:0,1,2,3 n3:0,1,2,3"}
    small = replace(WINNER, num_workers=1, kept=on("n2:0,1,2,3"))
    assert started(plan(TWO, [VICTIM, small])) == {"winner": "n1:0,1,2,3"}


WITHDRAWN: dict[str, tuple[list[Node], list[Job], Job, str]] = {
    "its node is lost": ([node("n1"), node("n2", usable=False)], [VICTIM], WINNER, ""),
    "its node is not even known": ([node("n1")], [VICTIM], WINNER, ""),
    "another job runs on it": (TWO, [running(job("r", 1, priority=9), "n2:0")], WINNER, ""),
    "the type is not allowed any more": (TWO, [VICTIM], replace(WINNER, types=("y",)), ""),
    "the nodes are in two racks by now": (
        [node("n1", rack="a"), node("n2", rack="b")],
        [VICTIM],
        replace(WINNER, topology=required("rack")),
        "",
    ),
    "a device is not there": (TWO, [VICTIM], replace(WINNER, kept=on("n1:0,1,2,4", "n2:0,1,2,3")), "anew"),
    "it is not the whole gang": (TWO, [VICTIM], replace(WINNER, kept=on("n2:0,1,2,3")), "anew"),
    "it is not whole workers": (TWO, [VICTIM], replace(WINNER, kept=on("n1:0,1,2", "n2:0,1,2,3")), "anew"),
    "one device is named twice": (
        TWO,
        [VICTIM],
        replace(WINNER, kept=on("n1:0,1,2,2", "n2:0,1,2,3")),
        "anew",
    ),
}


@pytest.mark.parametrize("name", WITHDRAWN)
def test_what_has_become_impossible_is_withdrawn(name: str) -> None:
    """The job waits without a keep, or keeps a possible place while its victim leaves."""
    nodes, others, winner, then = WITHDRAWN[name]
    result = plan(nodes, [*others, winner])
    assert kept(result) == ({"winner": "n1:0,1,2,3 n2:0,1,2,3"} if then else {})
    assert started(result) == {}


def test_a_lowered_limit_withdraws_what_is_kept() -> None:
    """It could not start there even when its victims are gone."""
    result = plan(TWO, [VICTIM, WINNER], [queue("q", limit=7)])
    assert kept(result) == {}
    assert result.reasons[WINNER.id].code is ReasonCode.OVER_LIMIT


def test_a_job_whose_node_was_lost_is_planned_anew_with_more_victims() -> None:
    """The devices that are still being freed for it stay kept, and one more job leaves."""
    nodes = [node("n1", usable=False), node("n2"), node("n3")]
    more = running(job("more", 4), "n3:0,1,2,3")
    result = plan(nodes, [VICTIM, more, WINNER])
    assert evicted(result) == {"more"}
    assert kept(result) == {"winner": "n2:0,1,2,3 n3:0,1,2,3"}


def test_a_job_whose_node_was_lost_keeps_what_is_still_being_freed() -> None:
    """No further victim is needed, but nobody may take what its victim leaves."""
    nodes = [node("n1", usable=False), node("n2"), node("n3")]
    result = plan(nodes, [VICTIM, WINNER, job("other", 4)])
    assert kept(result) == {"winner": "n2:0,1,2,3 n3:0,1,2,3"}
    assert started(result) == {}


def test_room_under_the_limit_is_kept_as_well() -> None:
    """Another job of the queue may not use up the limit that the promised start needs."""
    rows: list[Queue] = [queue("q", limit=8)]
    nodes = [*TWO, node("n3")]
    result = plan(nodes, [VICTIM, WINNER, job("other", 1)], rows)
    assert started(result) == {}
    reason = result.reasons[job("other").id]
    assert (reason.code, reason.params["claimed_milli"]) == (ReasonCode.LIMIT_NOW, 8000)


def test_two_jobs_cannot_keep_the_same_devices() -> None:
    """The first in turn does; the other is planned anew."""
    second = replace(WINNER, id=job("second").id, submitted_at_ms=5000)
    result = plan(TWO, [VICTIM, WINNER, second])
    assert kept(result) == {"winner": "n1:0,1,2,3 n2:0,1,2,3"}
    assert result.reasons[second.id].code is ReasonCode.NO_CAPACITY


def test_processors_beside_kept_devices_are_kept_too() -> None:
    """A job without accelerators may use only those that the promised start does not need."""
    nodes = [node("n1", cpus_milli=4000)]
    victim = leaving(running(job("victim", 4, cpus_milli=1000), "n1:0,1,2,3"))
    winner = job("winner", 4, priority=1, cpus_milli=2000, kept=on("n1:0,1,2,3"))
    result = plan(nodes, [victim, winner, job("small", 0, cpus_milli=2000), job("wide", 0, cpus_milli=3000)])
    assert started(result) == {"small": "n1:"}


def test_a_job_that_comes_to_depend_on_another_keeps_nothing() -> None:
    """Devices were being freed for it; it has to wait for the other job first."""
    other = running(job("other", 1), "n1:0")
    kept = replace(job("w", 1), kept=on("n1:1"), depends_on=frozenset({other.id}))
    result = plan([node("n1", 4)], [other, kept])
    assert (result.starts, result.keeps) == ((), ())
    assert result.reasons[kept.id].code is ReasonCode.WAITS_JOB
