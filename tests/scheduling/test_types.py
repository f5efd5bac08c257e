"""Quotas by accelerator type: limits, guarantees, and shares by the type of which a queue has most."""

from scheduling.model import EvictionKind, Job, Node, ReasonCode
from tests.scheduling.building import evicted, job, node, plan, queue, running, started

RARE = node("rare", 4, accelerator_type="h100")
COMMON = [node(f"c{number}", 8, accelerator_type="a100") for number in range(2)]
NODES: list[Node] = [RARE, *COMMON]


def holder(name: str, path: str, devices: int, *, at: str = "rare:0,1,2,3") -> Job:
    """A running one-worker job."""
    return running(job(name, devices, queue=path), at)


def test_a_limit_of_one_type_leaves_the_others_open() -> None:
    """Two of the rare type are allowed and used; a job that takes any gets the common one."""
    queues = [queue("q", type_limits={"h100": 2000})]
    rows = [running(job("a", 2, queue="q"), "rare:0,1"), job("b", 2, queue="q")]
    assert started(plan(NODES, rows, queues))["b"].startswith("c")
    only_rare = job("c", 2, queue="q", types=("h100",))
    reason = plan(NODES, [rows[0], only_rare], queues).reasons[only_rare.id]
    assert reason.code is ReasonCode.LIMIT_NOW
    assert reason.params["type"] == "h100"


def test_a_queue_reclaims_a_type_only_up_to_what_it_is_guaranteed_of_it() -> None:
    """Guaranteed 8 in all, 2 of them rare: 2 rare devices are reclaimed, 4 are not."""
    queues = [queue("own", guarantee=8, type_guarantees={"h100": 2000}), queue("other")]
    held = holder("b", "other", 4)
    few, many = (job(f"w{n}", n, queue="own", types=("h100",)) for n in (2, 4))
    result = plan(NODES, [held, few], queues)
    assert evicted(result) == {"b"}
    assert result.evictions[0].kind is EvictionKind.RECLAIM
    assert evicted(plan(NODES, [held, many], queues)) == set()


def test_a_queue_keeps_what_it_is_guaranteed_of_a_type() -> None:
    """The other queue is above its guarantee in all, but holds no more of the rare type than is its own."""
    queues = [
        queue("own", guarantee=8),
        queue("other", guarantee=4, type_guarantees={"h100": 4000}),
    ]
    rows = [
        holder("rare", "other", 4),
        holder("common", "other", 8, at="c0:0,1,2,3,4,5,6,7"),
        holder("more", "other", 8, at="c1:0,1,2,3,4,5,6,7"),
    ]
    wants_rare = job("w", 2, queue="own", types=("h100",))
    wants_any = job("v", 2, queue="own", types=("h100", "a100"))
    assert evicted(plan(NODES, [*rows, wants_rare], queues)) == set()
    assert evicted(plan(NODES, [*rows, wants_any], queues)) <= {"common", "more"}
    assert len(evicted(plan(NODES, [*rows, wants_any], queues))) == 1


def test_what_may_not_be_reclaimed_of_a_type_may_be_preempted_in_the_own_queue() -> None:
    """Beyond the type's guarantee, lower priority in the same queue still gives way."""
    queues = [queue("own", guarantee=8, type_guarantees={"h100": 2000}), queue("other")]
    rows = [running(job("low", 4, queue="own"), "rare:0,1,2,3")]
    high = job("high", 4, queue="own", types=("h100",), priority=5)
    assert evicted(plan(NODES, [*rows, high], queues)) == {"low"}


def test_the_share_of_a_queue_is_that_of_its_dominant_type() -> None:
    """Half of the rare type weighs as much as half of everything: the other queue's turn comes first."""
    queues = [queue("a"), queue("b")]
    rows = [
        running(job("ra", 2, queue="a"), "rare:0,1"),
        running(job("rb", 3, queue="b"), "c0:0,1,2"),
        *(running(job(f"x{n}", 1, queue="c"), f"c0:{n}") for n in range(3, 8)),
        *(running(job(f"y{n}", 1, queue="c"), f"c1:{n}") for n in range(7)),
    ]
    waiting = [job(f"w{path}", 1, queue=path, types=("a100",)) for path in ("a", "b")]
    assert started(plan(NODES, [*rows, *waiting], queues)).keys() == {"wb"}
