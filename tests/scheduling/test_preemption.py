"""Who is evicted for whom."""

from dataclasses import replace

import pytest

from scheduling.model import EvictionKind, Job, Node, Policy, Queue, QueuePath
from tests.scheduling.building import (
    evicted,
    job,
    leaving,
    node,
    plan,
    queue,
    required,
    running,
    shown,
    started,
)

Q = [queue("q", guarantee=8), queue("v")]
ONE = [node("n1")]
TWO = [node("n1", rack="a"), node("n2", rack="b")]

VICTIMS: dict[str, tuple[list[Node], list[Queue], list[Job], Job, set[str]]] = {
    "a lower priority in the same queue": (
        ONE,
        Q,
        [running(job("low", 4), "n1:0,1,2,3")],
        job("j", 4, priority=1),
        {"low"},
    ),
    "never an equal priority in the same queue": (
        ONE,
        Q,
        [running(job("equal", 4), "n1:0,1,2,3")],
        job("j", 4),
        set(),
    ),
    "never one that is not preemptible": (
        ONE,
        Q,
        [running(job("firm", 4, preemptible=False), "n1:0,1,2,3")],
        job("j", 4, priority=1),
        set(),
    ),
    "a borrower of whatever priority": (
        ONE,
        Q,
        [running(job("high", 4, queue="v", priority=9), "n1:0,1,2,3")],
        job("j", 4),
        {"high"},
    ),
    "never a queue within its guarantee": (
        ONE,
        [queue("q", guarantee=4), queue("v", guarantee=4)],
        [running(job("owner", 4, queue="v"), "n1:0,1,2,3")],
        job("j", 4),
        set(),
    ),
    "nobody for a job beyond its own guarantee": (
        ONE,
        [queue("q", guarantee=3), queue("v")],
        [running(job("borrower", 4, queue="v"), "n1:0,1,2,3")],
        job("j", 4),
        set(),
    ),
    "the last one may bring its queue below its guarantee": (
        ONE,
        [queue("q", guarantee=4), queue("v", guarantee=3)],
        [running(job("borrower", 4, queue="v"), "n1:0,1,2,3")],
        job("j", 4),
        {"borrower"},
    ),
    "but only the last one": (
        ONE,
        [queue("q", guarantee=4), queue("v", guarantee=3)],
        [running(job(f"v{n}", 2, queue="v"), f"n1:{2 * n},{2 * n + 1}") for n in range(2)],
        job("j", 4),
        set(),
    ),
    "the one with the least lost work": (
        ONE,
        Q,
        [running(job("old", 2), "n1:0,1"), running(job("young", 2), "n1:2,3", since=90)],
        job("j", 2, priority=1),
        {"young"},
    ),
    "work that is saved is not lost": (
        ONE,
        Q,
        [
            running(job("old", 2), "n1:0,1", saved_at_ms=99_000),
            running(job("young", 2), "n1:2,3", since=90),
        ],
        job("j", 2, priority=1),
        {"old"},
    ),
    "the restart costs too": (
        ONE,
        Q,
        [
            running(job("slow", 2, restart_cost_ms=60_000), "n1:0,1", since=90),
            running(job("quick", 2), "n1:2,3", since=80),
        ],
        job("j", 2, priority=1),
        {"quick"},
    ),
    "a checkpoint of an earlier run is no progress of this one": (
        ONE,
        Q,
        [
            running(job("again", 2), "n1:0,1", since=50, saved_at_ms=10_000),
            running(job("other", 2), "n1:2,3", since=60),
        ],
        job("j", 2, priority=1),
        {"other"},
    ),
    "one dear job rather than many cheap ones that lose more": (
        TWO,
        Q,
        [
            running(job("dear", 4), "n1:0,1,2,3", since=60),
            *(running(job(f"c{n}", 1), f"n2:{n}", since=50) for n in range(4)),
        ],
        job("j", 4, priority=1),
        {"dear"},
    ),
    "nobody beside what is idle": (
        TWO,
        Q,
        [running(job("low", 4), "n1:0,1,2,3")],
        job("j", 4, priority=1),
        set(),
    ),
    "only as many as are missing": (
        TWO,
        Q,
        [running(job("l1", 2), "n1:0,1"), running(job("l2", 2), "n1:2,3"), running(job("l3", 2), "n2:0,1")],
        job("j", 2, workers=2, priority=1),
        {"l1"},
    ),
    "a gang as a whole": (
        TWO,
        Q,
        [running(job("gang", 4, workers=2), "n1:0,1,2,3", "n2:0,1,2,3")],
        job("j", 4, priority=1),
        {"gang"},
    ),
    "inside the required domain": (
        TWO,
        Q,
        [
            running(job("a", 2), "n1:0,1"),
            running(job("b", 2), "n2:0,1", since=90),
            running(job("c", 2, priority=9), "n2:2,3"),
        ],
        job("j", 2, workers=2, priority=1, topology=required("rack")),
        {"a"},
    ),
    "for processors": (
        [node("n1", cpus_milli=8000)],
        Q,
        [running(job("low", 1, cpus_milli=8000), "n1:0")],
        job("j", 1, cpus_milli=1000, priority=1),
        {"low"},
    ),
    "for a limit though devices are idle": (
        TWO,
        [queue("q", limit=4)],
        [running(job("low", 4), "n1:0,1,2,3")],
        job("j", 4, priority=1),
        {"low"},
    ),
    "nobody when the limit would still be in the way": (
        ONE,
        [queue("q", limit=4)],
        [running(job("low", 1), "n1:0"), running(job("firm", 3, priority=9), "n1:1,2,3")],
        job("j", 2, priority=1),
        set(),
    ),
    "on the second type when the first cannot be freed": (
        [node("n1"), node("n2", accelerator_type="y")],
        Q,
        [running(job("high", 4, priority=9), "n1:0,1,2,3"), running(job("low", 4), "n2:0,1,2,3")],
        job("j", 4, priority=1, types=("x", "y")),
        {"low"},
    ),
    "on the first type when both can be freed": (
        [node("n1"), node("n2", accelerator_type="y")],
        Q,
        [running(job("low1", 4), "n1:0,1,2,3"), running(job("low2", 4), "n2:0,1,2,3", since=99)],
        job("j", 4, priority=1, types=("x", "y")),
        {"low1"},
    ),
    "nobody while enough is being freed anyway": (
        TWO,
        Q,
        [leaving(running(job("ends", 4), "n1:0,1,2,3")), running(job("low", 4), "n2:0,1,2,3")],
        job("j", 4, priority=1),
        set(),
    ),
    "parts of one device": (
        [node("n1", 1)],
        Q,
        [running(job("p1", 0.5), "n1:0"), running(job("p2", 0.5), "n1:0", since=90)],
        job("j", 0.5, priority=1),
        {"p2"},
    ),
    "all parts for a whole device": (
        [node("n1", 1)],
        Q,
        [running(job("p1", 0.5), "n1:0"), running(job("p2", 0.5), "n1:0", since=90)],
        job("j", 1, priority=1),
        {"p1", "p2"},
    ),
    "inside one link domain": (
        [node("n1", links=("l0", "l0", "l1", "l1"))],
        Q,
        [running(job(f"r{n}", 1), f"n1:{n}", since=90 * (n % 2)) for n in range(4)],
        job("j", 2, priority=1, topology=required("link")),
        {"r0", "r1"},
    ),
    "of one large victim, where small ones would use up what may be reclaimed": (
        [node("n1", 8), node("n2", 2)],
        [queue("q", guarantee=8), queue("v", guarantee=8)],
        [
            running(job("large", 8, queue="v"), "n1:0,1,2,3,4,5,6,7"),
            running(job("s1", 1, queue="v"), "n2:0", since=99),
            running(job("s2", 1, queue="v"), "n2:1", since=99),
        ],
        job("j", 8),
        {"large"},
    ),
}


@pytest.mark.parametrize("name", VICTIMS)
def test_victims(name: str) -> None:
    """Exactly these are evicted."""
    nodes, queues, busy, row, expected = VICTIMS[name]
    assert evicted(plan(nodes, [*busy, row], queues)) == expected


def test_an_eviction_says_by_which_right_and_for_whom() -> None:
    """Preempt inside the queue, reclaim between queues."""
    jobs = [
        running(job("own", 4), "n1:0,1,2,3"),
        running(job("theirs", 4, queue="v"), "n2:0,1,2,3"),
        job("j", 4, priority=1, workers=2),
    ]
    result = plan(TWO, jobs, [queue("q", guarantee=12), queue("v")])
    kinds = {eviction.job: (eviction.kind, eviction.beneficiary) for eviction in result.evictions}
    assert kinds == {"own": (EvictionKind.PREEMPT, "j"), "theirs": (EvictionKind.RECLAIM, "j")}


def test_what_is_freed_and_what_is_idle_beside_it_is_kept() -> None:
    """The whole place of the gang, from the moment of the eviction."""
    jobs = [running(job("low", 4), "n1:0,1,2,3"), job("j", 4, workers=2, priority=1)]
    result = plan(TWO, jobs, Q)
    assert [(keep.job, shown(keep.placement)) for keep in result.keeps] == [
        ("j", "n1:0,1,2,3 n2:0,1,2,3"),
    ]


def test_a_job_that_runs_for_less_than_the_minimum_is_not_preempted() -> None:
    """Reclaim is not bound by it."""
    jobs = [running(job("low", 4), "n1:0,1,2,3", since=95), job("j", 4, priority=1)]
    policy = Policy(min_runtime_ms=10_000)
    assert evicted(plan(ONE, jobs, Q, policy=policy)) == set()
    assert evicted(plan(ONE, jobs, Q, at=105, policy=policy)) == {"low"}
    borrower = [replace(jobs[0], queue=QueuePath("v")), jobs[1]]
    assert evicted(plan(ONE, borrower, Q, policy=policy)) == {"low"}


def test_two_claims_in_one_plan_do_not_count_on_the_same_victim() -> None:
    """Each has its own."""
    jobs = [
        running(job("l1", 4), "n1:0,1,2,3"),
        running(job("l2", 4), "n2:0,1,2,3"),
        job("j1", 4, priority=1, at=1),
        job("j2", 4, priority=1, at=2),
    ]
    result = plan(TWO, jobs, Q)
    assert {eviction.job: eviction.beneficiary for eviction in result.evictions} == {"l1": "j1", "l2": "j2"}


def test_a_victim_that_comes_back_does_not_undo_what_displaced_it() -> None:
    """It waits, with its first submit time, until devices are idle."""
    jobs = [
        job("returned", 4, queue="v", priority=9),
        running(job("j", 4), "n1:0,1,2,3"),
    ]
    result = plan(ONE, jobs, Q)
    assert evicted(result) == set()
    assert started(result) == {}


def test_a_hundred_racks_are_searched_for_the_cheapest() -> None:
    """More domains than are tried one by one: the cheapest is found among them all the same."""
    racks = [node(f"n{number:03}", 2, rack=f"r{number:03}") for number in range(100)]
    busy = [
        running(job(f"b{number:03}", 2), f"n{number:03}:0,1", since=90 if number == 77 else 10)
        for number in range(100)
    ]
    row = job("j", 2, priority=1, topology=required("rack"))
    assert evicted(plan(racks, [*busy, row], [queue("q")])) == {"b077"}


def test_a_limit_is_cleared_on_a_hundred_racks_with_room() -> None:
    """Devices are idle everywhere; the cheapest job of the queue makes room under its limit."""
    racks = [node(f"n{number:03}", 2, rack=f"r{number:03}") for number in range(100)]
    busy = [
        running(job(f"b{number}", 1), f"n{number:03}:0", since=90 if number == 7 else 10)
        for number in range(9)
    ]
    row = job("j", 1, priority=1, topology=required("rack"))
    assert evicted(plan(racks, [*busy, row], [queue("q", limit=9)])) == {"b7"}


def test_nothing_is_evicted_on_a_node_that_cannot_be_used() -> None:
    """Its devices would not become free."""
    jobs = [running(job("low", 4), "n1:0,1,2,3"), job("j", 4, priority=1)]
    assert evicted(plan([node("n1", usable=False)], jobs, Q)) == set()


def test_jobs_on_nodes_that_are_gone_are_left_to_the_runtime() -> None:
    """They hold what they hold until they are reported gone."""
    jobs = [running(job("lost", 4), "gone:0,1,2,3"), job("j", 4)]
    assert started(plan(ONE, jobs, Q)) == {"j": "n1:0,1,2,3"}


def test_a_victim_that_a_later_claim_makes_needless_goes_on() -> None:
    """Two devices are wanted and one is idle, so r0 is to leave; then r1 is evicted for another job, which
    takes one of its two devices: the other one will do, and r0 stays.
    """
    nodes = [node("n0", 4, cpus_milli=4000)]
    rows = [
        running(job("r0", 1, queue="a"), "n0:0"),
        running(job("r1", 2, queue="a/x", cpus_milli=4000), "n0:1,2"),
        job("w0", 1, queue="a/x", priority=1, cpus_milli=4000, at=2),
        job("w1", 1, workers=2, queue="a", priority=1, at=1),
    ]
    result = plan(nodes, rows, [queue("a"), queue("a/x", parent="a")])
    assert evicted(result) == {"r1"}
    assert {keep.job for keep in result.keeps} == {"w0", "w1"}


def test_where_only_one_large_victim_brings_a_queue_below_its_limit_that_one_leaves() -> None:
    """Two small ones would bring it to its guarantee after the first, and the limit needs both."""
    queues = [
        queue("a", limit=4),
        queue("a/x", guarantee=1, parent="a"),
        queue("a/y", guarantee=3, parent="a"),
    ]
    nodes = [node("n0", 4), node("n1", 4)]
    rows = [
        running(job("r0", 1, queue="a"), "n0:0"),
        running(job("r1", 1, queue="a"), "n0:1"),
        running(job("r2", 1, workers=3, queue="a"), "n0:2", "n0:3", "n1:0"),
    ]
    assert evicted(plan(nodes, [*rows, job("w0", 1, queue="a/x")], queues)) == {"r2"}
