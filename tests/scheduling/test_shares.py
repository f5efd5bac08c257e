"""The queue tree: limits, guarantees, whose turn it is, and who may take back from whom."""

import pytest

from scheduling.model import Order, Policy, QueuePath, ReasonCode
from scheduling.shares import TOTAL, Charge, QueueTree
from tests.scheduling.building import evicted, job, node, plan, queue, running, started

TREE = [
    queue("red", guarantee=8, limit=12),
    queue("red/a", guarantee=4, parent="red"),
    queue("red/b", guarantee=4, limit=6, parent="red"),
    queue("blue", guarantee=4),
    queue("grey", weight=2),
]


def tree(**used: int) -> QueueTree:
    """The tree above, with devices held in some leaves (written with `_` for `/`)."""
    found = QueueTree(TREE, named=[])
    for path, devices in used.items():
        found.hold(Charge(found.number[QueuePath(path.replace("_", "/"))], devices * 1000))
    return found


def test_every_ancestor_counts_what_a_queue_holds() -> None:
    """Usage is summed up to the root of the tree."""
    found = tree(red_a=3, red_b=2)
    assert found.used[found.number[QueuePath("red")]][TOTAL] == 5000


def test_the_nearest_limit_that_is_in_the_way_is_named() -> None:
    """First the queue's own, then the parent's."""
    found = tree(red_a=6, red_b=5)
    leaf = found.number[QueuePath("red/b")]
    hits = [found.limit_now(leaf, devices * 1000) for devices in (1, 2)]
    assert [hit and hit.queue for hit in hits] == [None, "red/b"]
    other = found.limit_now(found.number[QueuePath("red/a")], 2000)
    assert other is not None
    assert (other.queue, other.used_milli, other.limit_milli) == ("red", 11_000, 12_000)


def test_what_is_claimed_by_others_counts_against_the_limit() -> None:
    """A start may not take the room that a promised start needs."""
    found = tree(red_b=3)
    leaf = found.number[QueuePath("red/b")]
    found.claim(Charge(leaf, 2000))
    hit = found.limit_now(leaf, 2000)
    assert hit is not None
    assert (hit.used_milli, hit.claimed_milli) == (5000, 2000)
    assert found.limit_now(leaf, 2000, own_claim=2000) is None


def test_leaving_jobs_count_as_used_but_not_as_staying() -> None:
    """The limit binds until they are gone; a plan for later does not count them."""
    found = tree(red_b=6)
    leaf = found.number[QueuePath("red/b")]
    found.leave(Charge(leaf, 4000))
    assert found.limit_now(leaf, 1000) is not None
    assert found.limits_later(leaf, 4000) == []
    assert found.limits_later(leaf, 5000) == [(leaf, 1000)]


def test_a_parent_guarantees_what_its_children_are_guaranteed() -> None:
    """Also where nobody wrote it down."""
    rows = [queue("p"), queue("p/a", guarantee=3, parent="p"), queue("p/b", guarantee=2, parent="p")]
    found = QueueTree(rows, named=[])
    assert found.guarantees[found.number[QueuePath("p")]] == 5000


def test_a_queue_that_nobody_defined_has_no_guarantee_and_no_limit() -> None:
    """It may borrow."""
    assert started(plan([node("n1")], [job("j", 4, queue="nowhere")])) == {"j": "n1:0,1,2,3"}


def test_parents_in_a_circle_do_not_hang() -> None:
    """The circle ends where it closes."""
    rows = [queue("a", parent="b", limit=2), queue("b", parent="a", limit=1)]
    result = plan([node("n1")], [job("j", 2, queue="a")], rows)
    assert result.reasons[job("j").id].params["queue"] == "b"


TURNS: dict[str, tuple[dict[str, int], list[str]]] = {
    "equals by path, without a guarantee last": ({}, ["blue", "red/a", "red/b", "grey"]),
    "below the guarantee before beyond it": (
        {"blue": 4, "red_a": 3},
        ["red/b", "red/a", "blue", "grey"],
    ),
    "below it by used / guarantee": ({"blue": 2, "red_a": 3, "red_b": 4}, ["blue", "red/a", "red/b", "grey"]),
    "beyond it by excess / weight": ({"blue": 6, "grey": 3, "red_a": 8}, ["grey", "blue"]),
}


@pytest.mark.parametrize("name", TURNS)
def test_turns(name: str) -> None:
    """Queues in the order of their turns."""
    used, expected = TURNS[name]
    found = tree(**used)
    order = sorted((found.number[QueuePath(path)] for path in expected), key=found.turn_key)
    assert [found.queues[number].path for number in order] == expected


RECLAIMS: dict[str, tuple[dict[str, int], str, int, set[str]]] = {
    "from whoever is above the guarantee": ({"grey": 4, "blue": 4}, "red/a", 4, {"grey"}),
    "not beyond the own guarantee": ({"grey": 4, "red_a": 1}, "red/a", 4, set()),
    "from a sister above hers": ({"red_a": 6}, "red/b", 4, {"red/a"}),
    "outside only within the parent's guarantee": ({"red_a": 6, "grey": 2}, "red/b", 4, {"red/a"}),
    "not from a queue whose parent is within its own": ({"red_a": 8}, "blue", 2, set()),
    "from a queue above hers if its parent is above too": ({"red_a": 9}, "blue", 2, {"red", "red/a"}),
    "nobody reclaims nothing": ({"grey": 4}, "red/a", 0, set()),
}


@pytest.mark.parametrize("name", RECLAIMS)
def test_who_may_reclaim_from_whom(name: str) -> None:
    """The queues that a job of this size may take back from."""
    used, claimant, wanted, expected = RECLAIMS[name]
    found = tree(**used)
    sources = found.reclaimable(found.number[QueuePath(claimant)], wanted * 1000)
    assert {found.queues[number].path for number in sources} == expected


def test_inside_a_queue_priority_then_first_submit_decides() -> None:
    """Three jobs for one place."""
    jobs = [job("late", 4, at=2), job("early", 4, at=1), job("high", 4, at=3, priority=1)]
    for winner in ("high", "early", "late"):
        assert started(plan([node("n1")], jobs)) == {winner: "n1:0,1,2,3"}
        jobs = [row for row in jobs if row.id != winner]


def test_a_job_behind_may_start_first() -> None:
    """What cannot start does not stand in the way."""
    assert started(plan([node("n1")], [job("big", 8, at=1), job("small", 1, at=2)])) == {"small": "n1:0"}


def test_under_strict_order_nobody_passes_in_the_queue() -> None:
    """A job that waits for devices stops those behind it, in its own queue only."""
    jobs = [
        running(job("r", 2), "n1:0,1"),
        job("big", 4, at=1),
        job("small", 1, at=2),
        job("other", 1, at=3, queue="p"),
    ]
    result = plan([node("n1")], jobs, policy=Policy(order=Order.STRICT_FIFO))
    assert started(result) == {"other": "n1:2"}
    reason = result.reasons[job("small").id]
    assert (reason.code, reason.params) == (ReasonCode.IN_ORDER, {"job": "big", "queue": "q"})


def test_under_strict_order_a_job_that_can_never_start_is_passed() -> None:
    """It would stop its queue for ever."""
    jobs = [job("never", 8, at=1), job("small", 1, at=2)]
    assert started(plan([node("n1")], jobs, policy=Policy(order=Order.STRICT_FIFO))) == {"small": "n1:0"}


def test_idle_guarantees_are_borrowed_up_to_every_limit() -> None:
    """A queue without a guarantee takes what is idle, as far as its parent's limit goes."""
    rows = [queue("p", limit=3), queue("p/a", parent="p"), queue("b", guarantee=4)]
    jobs = [job(f"j{number}", queue="p/a") for number in range(4)]
    assert len(plan([node("n1")], jobs, rows).starts) == 3


def test_queues_take_turns_by_share() -> None:
    """Four devices, guarantees 3 and 1: each queue gets its own, whoever submitted first."""
    rows = [queue("a", guarantee=3), queue("b", guarantee=1)]
    jobs = [job(f"b{n}", queue="b", at=n) for n in range(4)] + [
        job(f"a{n}", queue="a", at=9 + n) for n in range(4)
    ]
    assert set(started(plan([node("n1")], jobs, rows))) == {"a0", "a1", "a2", "b0"}


def test_a_start_that_would_be_reclaimed_at_once_gives_way() -> None:
    """The queue below its guarantee begins with a borrower too large for it; the owner's job is tried later
    in the same pass, and gets the devices without anybody being evicted.
    """
    rows = [queue("a", guarantee=1), queue("b", guarantee=4)]
    jobs = [
        job("borrower", 4, queue="a"),
        job("never", 8, queue="b", priority=1),
        job("owner", 4, queue="b", at=1),
    ]
    result = plan([node("n1")], jobs, rows)
    assert started(result) == {"owner": "n1:0,1,2,3"}
    assert evicted(result) == set()
    assert result.gave_way == ("borrower",)
