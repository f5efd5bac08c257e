"""The checker itself: it passes a good plan and names what is wrong with each bad one."""

from dataclasses import replace

import pytest

from scheduling.invariants import check
from scheduling.model import (
    Evict,
    EvictionKind,
    JobId,
    JobPhase,
    Keep,
    Plan,
    Reason,
    ReasonCode,
    Repair,
    Resize,
    Start,
)
from tests.scheduling.building import job, leaving, node, on, plan, queue, required, running, snapshot

PREEMPT, RECLAIM = EvictionKind.PREEMPT, EvictionKind.RECLAIM
NODES = [
    node("n1", rack="a", cpus_milli=4000),
    node("n2", rack="b", cpus_milli=4000),
    node("n3", accelerator_type="y"),
    node("n4", usable=False),
]
QUEUES = [queue("q", guarantee=6, limit=8), queue("v", guarantee=1), queue("poor")]
JOBS = [
    job("w", 2, workers=2, priority=1, cpus_milli=1000, topology=required("rack"), types=("x",)),
    job("wide", 2, workers=4),
    job("any", 1, workers=2),
    job("beggar", 1, queue="poor", cpus_milli=3500),
    running(job("own", 2, cpus_milli=1000), "n1:2,3"),
    running(job("firm", 1, preemptible=False), "n2:0"),
    running(job("their", 2, queue="v"), "n2:2,3"),
    running(job("more", 1, queue="v"), "n2:1"),
    leaving(running(job("gone", 1), "n3:0")),
]
ROWS = snapshot(NODES, JOBS, QUEUES)


def made(
    *,
    starts: dict[str, str] | None = None,
    keeps: dict[str, str] | None = None,
    evictions: tuple[Evict, ...] = (),
) -> Plan:
    """A plan of these starts and keeps (placements as `on` reads them), with all reasons that it needs."""
    reason = Reason(code=ReasonCode.NO_CAPACITY)
    waiting = [row.id for row in JOBS if row.phase is JobPhase.WAITING and row.id not in (starts or {})]
    return Plan(
        starts=tuple(
            Start(job=JobId(name), placement=on(*places.split()), accelerator_type="x")
            for name, places in (starts or {}).items()
        ),
        keeps=tuple(
            Keep(job=JobId(name), placement=on(*places.split())) for name, places in (keeps or {}).items()
        ),
        evictions=evictions,
        reasons=dict.fromkeys(waiting, reason),
    )


def evict(victim: str, winner: str, kind: EvictionKind) -> tuple[Evict, ...]:
    """One eviction."""
    return (Evict(job=JobId(victim), beneficiary=JobId(winner), kind=kind),)


BAD: dict[str, tuple[Plan, str]] = {
    "a gang in part": (made(starts={"w": "n1:0,1"}), "1 of 2 workers"),
    "half a worker": (made(starts={"beggar": "n3:"}), "0 devices for a worker"),
    "a device twice in one worker": (made(starts={"w": "n1:0,0 n1:1,1"}), "1 devices for a worker"),
    "a device that there is not": (made(starts={"beggar": "n3:7"}), "no such device"),
    "a node that there is not": (made(starts={"beggar": "n9:0"}), "n9 cannot be used"),
    "a node that cannot be used": (made(starts={"beggar": "n4:0"}), "n4 cannot be used"),
    "a type that is not allowed": (made(starts={"w": "n3:1,2 n3:3,0"}), "a type that it does not allow"),
    "two types": (made(starts={"any": "n1:0 n3:1"}), "several accelerator types"),
    "two racks": (made(starts={"w": "n1:0,1 n2:0,1"}), "not inside one rack"),
    "a device that runs another job": (made(starts={"any": "n1:1 n1:2"}), "device 2 of n1 is given twice"),
    "a device that is not free yet": (made(starts={"beggar": "n3:0"}), "device 0 of n3 is given twice"),
    "one device for two": (made(starts={"any": "n1:0 n1:1", "beggar": "n1:0"}), "given twice"),
    "a device that is kept": (
        made(starts={"beggar": "n3:1"}, keeps={"any": "n3:0 n3:1"}),
        "later: device 1 of n3 is given twice",
    ),
    "processors that there are not": (made(starts={"beggar": "n1:0"}), "too few processors"),
    "more than a limit": (made(starts={"wide": "n3:0,1 n3:2,3 n1:0,1 n1:2,3"}), "the limit is 8000"),
    "more than a limit, promised": (
        made(starts={"any": "n1:0 n1:1"}, keeps={"wide": "n3:0,1 n3:2,3 n3:0,1 n3:2,3"}),
        "milli are promised, the limit is 8000",
    ),
    "who does not wait": (made(starts={"own": "n1:0,1"}), "own does not wait"),
    "who is unknown": (made(starts={"nobody": "n1:0"}), "nobody does not wait"),
    "a start and a keep": (made(starts={"any": "n1:0 n1:1"}, keeps={"any": "n1:0 n1:1"}), "starts and keeps"),
    "an eviction for nothing": (made(evictions=evict("own", "w", PREEMPT)), "nothing is kept"),
    "an equal priority": (
        made(keeps={"any": "n1:2 n1:3"}, evictions=evict("own", "any", PREEMPT)),
        "its priority is not lower",
    ),
    "who may not be evicted": (
        made(keeps={"w": "n1:0,1 n1:2,3"}, evictions=evict("firm", "w", PREEMPT)),
        "may not be evicted",
    ),
    "who leaves already": (
        made(keeps={"w": "n1:0,1 n1:2,3"}, evictions=evict("gone", "w", PREEMPT)),
        "may not be evicted",
    ),
    "the wrong right": (
        made(keeps={"w": "n1:0,1 n1:2,3"}, evictions=evict("own", "w", RECLAIM)),
        "not by that right",
    ),
    "beyond the own guarantee": (
        made(keeps={"beggar": "n2:1"}, evictions=evict("more", "beggar", RECLAIM)),
        "poor reclaims beyond its guarantee",
    ),
    "no reason": (Plan(reasons=made(starts={"w": ""}).reasons), "w waits without a reason"),
    "a reason too many": (
        Plan(reasons={**made().reasons, JobId("own"): Reason(code=ReasonCode.SHARE)}),
        "own has a reason",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_the_checker_names(name: str) -> None:
    """What is wrong with the plan."""
    bad, problem = BAD[name]
    assert any(problem in sentence for sentence in check(ROWS, bad))


ELASTIC = running(
    job("e", 1, workers=3, min_workers=2, max_workers=3, topology=required("rack")), "n1:0", "n1:1", "n1:2"
)
HURT = running(job("hurt", 1, workers=3, priority=1), "n2:0", "n2:1", num_missing=1)
CHANGING = snapshot(
    [*NODES[:3], node("n5", 1, rack="a")], [ELASTIC, HURT, job("w", 1)], [queue("q", limit=6)]
)


def changed(
    *, resizes: dict[str, str] | None = None, repairs: dict[str, str] | None = None, winner: str = ""
) -> Plan:
    """A plan of these resizes (for this beneficiary) and repairs."""
    return Plan(
        resizes=tuple(
            Resize(
                job=JobId(name), placement=on(*places.split()), beneficiary=JobId(winner) if winner else None
            )
            for name, places in (resizes or {}).items()
        ),
        repairs=tuple(
            Repair(job=JobId(name), placement=on(*places.split())) for name, places in (repairs or {}).items()
        ),
        reasons={JobId("w"): Reason(code=ReasonCode.NO_CAPACITY)},
    )


BAD_CHANGES: dict[str, tuple[Plan, str]] = {
    "below the least size": (changed(resizes={"e": "n1:0"}), "1 of 3 workers"),
    "beyond what is wanted": (changed(resizes={"e": "n1:0 n1:1 n1:2 n1:3"}), "4 of 3 workers"),
    "out of its domain": (changed(resizes={"e": "n1:0 n1:1 n2:3"}), "not inside one rack"),
    "onto a device of another job": (
        changed(repairs={"hurt": "n2:0 n2:1 n1:0"}),
        "device 0 of n1 is given twice",
    ),
    "onto two types": (changed(repairs={"hurt": "n2:0 n2:1 n3:0"}), "several accelerator types"),
    "a survivor moved": (changed(repairs={"hurt": "n2:0 n2:2 n2:3"}), "hurt is not repaired"),
    "nobody was missing": (changed(repairs={"e": "n1:0 n1:1 n1:2"}), "e is not repaired"),
    "who waits": (changed(resizes={"w": "n1:3"}), "w does not run"),
    "twice": (changed(resizes={"e": "n1:0 n1:1"}, repairs={"e": "n1:0 n1:1"}), "e changes twice"),
    "for nothing": (changed(resizes={"e": "n1:0 n1:1"}, winner="w"), "nothing is kept"),
    "for an equal": (changed(resizes={"e": "n1:0 n1:1"}, winner="w"), "its priority is not lower"),
    "for one that runs": (changed(resizes={"e": "n1:0 n1:1"}, winner="e"), "surplus does not move"),
}


@pytest.mark.parametrize("name", BAD_CHANGES)
def test_the_checker_names_a_change(name: str) -> None:
    """That no plan may make."""
    bad, problem = BAD_CHANGES[name]
    assert any(problem in sentence for sentence in check(CHANGING, bad))


def test_good_changes_pass() -> None:
    """A repair beside the survivors, and a shrink for nobody."""
    good = changed(resizes={"e": "n1:0 n1:1"}, repairs={"hurt": "n2:0 n2:1 n2:2"})
    assert check(CHANGING, good) == []
    small = replace(CHANGING, queues=(queue("q", limit=5),))
    assert any("the limit is 5000" in sentence for sentence in check(small, good))


def test_a_gang_leaves_incomplete_only_if_it_misses_somebody() -> None:
    """The beneficiary is the gang itself."""
    withdrawn = replace(changed(), evictions=evict("e", "e", EvictionKind.INCOMPLETE))
    assert "e leaves for no reason" in check(CHANGING, withdrawn)
    withdrawn = replace(changed(), evictions=evict("hurt", "hurt", EvictionKind.INCOMPLETE))
    assert check(CHANGING, withdrawn) == []


def test_the_last_victim_may_bring_its_queue_below_its_guarantee() -> None:
    """Three devices, one guaranteed: after the small victim it is still above, so the large one may go."""
    evictions = (*evict("more", "any", RECLAIM), *evict("their", "any", RECLAIM))
    assert check(ROWS, made(keeps={"any": "n2:1 n2:2"}, evictions=evictions)) == []


def test_more_than_a_queue_may_lose_is_named() -> None:
    """Two victims of two devices each, from a queue that is one device above its guarantee."""
    jobs = [running(job(f"v{n}", 2, queue="v"), f"n1:{2 * n},{2 * n + 1}") for n in range(2)]
    rows = snapshot(
        NODES, [job("any", 2, workers=2), *jobs], [queue("q", guarantee=6), queue("v", guarantee=3)]
    )
    bad = made(
        keeps={"any": "n1:0,1 n1:2,3"},
        evictions=(*evict("v0", "any", RECLAIM), *evict("v1", "any", RECLAIM)),
    )
    assert "v loses more than it holds beyond its guarantee" in check(rows, bad)


def test_a_plan_of_the_engine_passes() -> None:
    """The same rows, decided."""
    assert check(ROWS, plan(NODES, JOBS, QUEUES)) == []
