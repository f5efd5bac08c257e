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


def test_nobody_is_evicted_for_a_user_who_may_hold_no_more() -> None:
    """A user's cap is full by a job that the claim would not evict: the start stays impossible."""
    queues = [queue("q", user_limit_milli=1000)]
    rows = [
        running(job("own", 1, queue="q", user="al", preemptible=False), "rare:0"),
        running(job("bobs", 3, queue="q", user="bob"), "rare:1,2,3"),
    ]
    high = job("high", 1, queue="q", user="al", priority=5)
    result = plan([RARE], [*rows, high], queues)
    assert evicted(result) == set()
    assert result.reasons[high.id].code is ReasonCode.LIMIT_NOW
    assert result.reasons[high.id].params["user"] == "al"


def test_two_claims_of_one_user_keep_to_the_cap() -> None:
    """What is kept for the first counts for the second."""
    queues = [queue("q", user_limit_milli=1000)]
    rows = [running(job(f"r{n}", 1, queue="q", user="bob"), f"rare:{n}") for n in range(4)]
    claims = [job(f"w{n}", 1, queue="q", user="al", priority=5) for n in range(2)]
    assert len(evicted(plan([RARE], [*rows, *claims], queues))) == 1


def test_two_claims_keep_to_the_limit_of_a_type() -> None:
    """The same for a limit of one accelerator type: two of the queue's devices may be rare, both are used."""
    queues = [queue("q", type_limits={"h100": 2000})]
    rows = [running(job(f"r{n}", 1, queue="q"), f"rare:{n}") for n in range(2)]
    rows += [running(job(f"s{n}", 1, queue="p"), f"rare:{n}") for n in (2, 3)]
    claims = [job(f"w{n}", 1, queue="q", types=("h100",), priority=5) for n in range(3)]
    assert evicted(plan([RARE], [*rows, *claims], queues)) == {"r0", "r1"}


def test_two_claims_of_one_array_keep_to_its_cap() -> None:
    """One of the array may run, so devices are freed for one."""
    rows = [running(job(f"r{n}", 1), f"rare:{n}") for n in range(4)]
    claims = [job(f"w{n}", 1, array="a", array_cap=1, priority=5) for n in range(2)]
    result = plan([RARE], [*rows, *claims])
    assert len(evicted(result)) == 1
    assert sorted(reason.code for reason in result.reasons.values()) == [
        ReasonCode.ARRAY_CAP,
        ReasonCode.WAITS_VICTIMS,
    ]


def test_a_cluster_whose_nodes_have_no_accelerators_is_planned() -> None:
    """Two types, no device of either: nothing starts, nothing fails."""
    nodes = [node("a", 0, accelerator_type="a100"), node("b", 0, accelerator_type="h100")]
    waiting = job("w", 1, queue="q")
    assert plan(nodes, [waiting], [queue("q")]).reasons[waiting.id].code is ReasonCode.NEVER_FITS


def test_a_limit_of_a_type_is_named_where_it_alone_is_in_the_way() -> None:
    """The other type is full, and on this one devices are idle: the limit is the reason."""
    queues = [queue("q", type_limits={"h100": 2000}), queue("p")]
    rows = [
        running(job("a", 2, queue="q"), "rare:0,1"),
        *(running(job(f"b{n}", 8, queue="p"), f"c{n}:0,1,2,3,4,5,6,7") for n in range(2)),
    ]
    waiting = job("w", 2, queue="q")
    reason = plan(NODES, [*rows, waiting], queues).reasons[waiting.id]
    assert (reason.code, reason.params["type"]) == (ReasonCode.LIMIT_NOW, "h100")
