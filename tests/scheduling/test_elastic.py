"""Elastic gangs: how large they start, how they grow and shrink, and how their surplus gives way."""

from dataclasses import replace
from typing import Any

import pytest

from scheduling.decide import decide
from scheduling.model import Growth, Job, Order, Plan, Policy, Queue, ReasonCode, Window
from scheduling.snapshot import Snapshot
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
    snapshot,
    started,
)
from tests.scheduling.rows import carried_out

EIGHT = [node("n1", 8)]
MOST = Policy(growth=Growth.MOST)
SHARED = Policy(shares_surplus=True)


def elastic(name: str, *, least: int = 1, want: int, most: int = 8, **changes: Any) -> Job:
    """A waiting elastic job of one-device workers."""
    return job(name, 1, workers=want, min_workers=least, max_workers=most, **changes)


def at_size(row: Job, size: int, *, first: int = 0, **changes: Any) -> Job:
    """The job running on so many devices of n1, from this one on."""
    return running(row, *(f"n1:{first + index}" for index in range(size)), **changes)


def resized(result: Plan) -> dict[str, tuple[int, str]]:
    """To which size each job changes, and for whom."""
    return {change.job: (len(change.placement), change.beneficiary or "") for change in result.resizes}


def sizes(result: Plan) -> dict[str, int]:
    """How many workers each started or changed job has."""
    starting: dict[str, int] = {start.job: len(start.placement) for start in result.starts}
    return starting | {change.job: len(change.placement) for change in result.resizes}


def later(rows: list[Job], result: Plan, *, queues: list[Queue] | None = None) -> list[Job]:
    """The jobs once the plan is carried out and everybody who was told to leave is gone."""
    after: Snapshot = carried_out(snapshot(EIGHT, rows, queues or []), result, now_ms=100_000)
    return [replace(row, releasing=()) for row in after.jobs]


STARTS: dict[str, tuple[Job, int]] = {
    "what is wanted fits": (elastic("e", want=3), 3),
    "less fits than is wanted": (elastic("e", want=12, most=12), 8),
    "in whole steps": (elastic("e", least=3, want=8, step_workers=3), 6),
    "in whole tensor groups": (elastic("e", least=3, want=8, group_workers=3), 6),
    "no more than is wanted": (elastic("e", want=5, step_workers=2, least=2), 4),
    "what is wanted is below the least size": (elastic("e", least=4, want=2), 2),
}


@pytest.mark.parametrize("name", STARTS)
def test_a_job_starts_as_large_as_fits(name: str) -> None:
    """Up to what is wanted, in one plan."""
    row, size = STARTS[name]
    assert sizes(plan(EIGHT, [row])) == {"e": size}


def test_a_job_that_has_not_even_its_least_size_waits() -> None:
    """All or nothing holds for the least size; the reason counts that."""
    result = plan(EIGHT, [elastic("e", least=9, want=12, most=12)])
    reason = result.reasons[job("e").id]
    assert (reason.code, reason.params["workers"]) == (ReasonCode.NEVER_FITS, 9)


def test_growth_leaves_what_a_waiting_job_can_start_with() -> None:
    """The elastic job comes first in turn, yet the other starts; then it grows into the rest."""
    result = plan(EIGHT, [elastic("e", want=8, at=0), job("w", 3, at=5)])
    assert sizes(result) == {"e": 5, "w": 1}


def test_up_to_what_is_wanted_the_first_in_turn_grows_first() -> None:
    """Of equal priority whoever was submitted earlier."""
    rows = [at_size(elastic("late", want=4, at=9), 1), at_size(elastic("early", want=6, at=1), 2, first=1)]
    assert resized(plan(EIGHT, rows)) == {"early": (6, ""), "late": (2, "")}


LIMITS: dict[str, list[Queue]] = {
    "its own": [queue("q", limit=5)],
    "its parent's": [queue("p", limit=5), queue("q", parent="p")],
    "one for its type": [queue("q", type_limits={"x": 5000})],
    "what its user may hold": [queue("q", user_limit_milli=5000)],
}


@pytest.mark.parametrize("name", LIMITS)
def test_growth_ends_at_every_limit(name: str) -> None:
    """Of eight free devices five are used."""
    assert sizes(plan(EIGHT, [elastic("e", want=8, user="u")], LIMITS[name])) == {"e": 5}


def test_a_gang_grows_inside_its_required_domain_on_its_type_only() -> None:
    """The second rack is idle, and of no use to it; nor is the other type in its own rack."""
    nodes = [
        node("n1", rack="a"),
        node("n2", rack="b"),
        node("n3", 2, rack="a"),
        node("n4", rack="a", accelerator_type="y"),
    ]
    result = plan(nodes, [at_size(elastic("e", want=8, topology=required("rack")), 3)])
    assert shown(result.resizes[0].placement) == "n1:0 n1:1 n1:2 n1:3 n3:0 n3:1"
    assert len(plan(nodes, [at_size(elastic("e", want=20), 3)]).resizes[0].placement) == 10


def test_tensor_groups_stay_whole_when_a_gang_grows() -> None:
    """Two link domains with one free device each hold no further group of two."""
    split = node("n1", 8, links=("a",) * 3 + ("b",) * 3 + ("c",) * 2)
    row = running(elastic("e", want=8, least=2, group_workers=2), "n1:0", "n1:1", "n1:3", "n1:4")
    assert shown(plan([split], [row]).resizes[0].placement) == "n1:0 n1:1 n1:3 n1:4 n1:6 n1:7"


def test_a_job_that_wants_less_gives_its_last_ranks_back_at_once() -> None:
    """For nobody in particular."""
    result = plan(EIGHT, [at_size(elastic("e", want=2), 5)])
    assert [(shown(r.placement), r.beneficiary) for r in result.resizes] == [("n1:0 n1:1", None)]


def test_beyond_what_is_wanted_a_job_grows_only_by_policy() -> None:
    """Up to the most that it may have, and back when the policy changes."""
    row = at_size(elastic("e", want=2, most=6), 2)
    assert resized(plan(EIGHT, [row])) == {}
    result = plan(EIGHT, [row], policy=MOST)
    assert resized(result) == {"e": (6, "")}
    assert resized(plan(EIGHT, later([row], result))) == {"e": (2, "")}


STEEP = ((1, 1000), (2, 1950), (4, 3700))
FLAT = ((1, 1000), (2, 1200), (4, 1250))


def test_beyond_what_is_wanted_devices_go_where_they_are_worth_most() -> None:
    """One scales and one hardly does; what both have and want is the same."""
    rows = [
        at_size(elastic("flat", want=1, most=4, speeds=FLAT), 1),
        at_size(elastic("steep", want=1, most=4, speeds=STEEP), 1, first=1),
    ]
    assert resized(plan([node("n1", 5)], rows, policy=MOST)) == {"steep": (4, "")}


def test_a_device_is_worth_more_to_whom_less_is_left_to_do() -> None:
    """Equal speeds; the short job gets the devices first."""
    rows = [
        at_size(elastic("long", want=1, most=4, remaining_ms=90_000_000), 1),
        at_size(elastic("short", want=1, most=4, remaining_ms=900_000), 1, first=1),
    ]
    assert resized(plan([node("n1", 5)], rows, policy=MOST)) == {"short": (4, "")}


def test_no_job_grows_to_a_size_at_which_it_is_slower() -> None:
    """Measured: four are faster than one, six slower than four."""
    row = at_size(elastic("e", want=1, most=6, speeds=((1, 1000), (4, 2500), (6, 2000))), 1)
    assert resized(plan(EIGHT, [row], policy=MOST)) == {"e": (4, "")}


def test_sizes_that_are_worth_nothing_are_jumped_over() -> None:
    """Two and three workers are no faster than one, four are."""
    speeds = ((1, 1000), (2, 1000), (3, 1000), (4, 3000))
    row = at_size(elastic("e", want=1, most=4, speeds=speeds), 1)
    assert resized(plan(EIGHT, [row], policy=MOST)) == {"e": (4, "")}
    assert resized(plan([node("n1", 3)], [row], policy=MOST)) == {}


def test_growth_beyond_what_is_wanted_has_to_be_worth_the_restart() -> None:
    """Twice as fast saves half of what is left; a restart of more than that is not worth it."""
    speeds = ((1, 1000), (2, 2000))
    row = at_size(elastic("e", want=1, most=2, speeds=speeds, remaining_ms=100_000), 1)
    assert resized(plan(EIGHT, [replace(row, restart_cost_ms=60_000)], policy=MOST)) == {}
    assert resized(plan(EIGHT, [replace(row, restart_cost_ms=40_000)], policy=MOST)) == {"e": (2, "")}


def test_growth_up_to_what_is_wanted_asks_for_no_gain() -> None:
    """The user decides that."""
    row = at_size(elastic("e", want=2, speeds=FLAT, remaining_ms=1000, restart_cost_ms=60_000), 1)
    assert resized(plan(EIGHT, [row])) == {"e": (2, "")}


def test_surplus_gives_way_before_any_whole_job() -> None:
    """The other job has lost nothing yet, but it would have to leave altogether."""
    rows = [
        at_size(elastic("e", least=2, want=6, restart_cost_ms=600_000), 6),
        at_size(job("young", 1), 1, first=6, since=100),  # has lost nothing yet
        job("w", 1, workers=3, priority=1),
    ]
    result = plan(EIGHT, rows)
    assert (resized(result), evicted(result)) == ({"e": (4, "w")}, set())
    assert shown(result.resizes[0].placement) == "n1:0 n1:1 n1:2 n1:3"


def test_no_more_surplus_is_taken_than_is_needed() -> None:
    """In whole steps: three devices are two steps of two."""
    rows = [at_size(elastic("e", least=2, want=8, step_workers=2), 8), job("w", 3, priority=1)]
    assert resized(plan(EIGHT, rows)) == {"e": (4, "w")}


def test_what_the_base_holds_is_taken_only_with_the_whole_job() -> None:
    """Six devices are needed and four are surplus: the job is evicted, and nothing of it shrinks."""
    result = plan(EIGHT, [at_size(elastic("e", least=4, want=8), 8), job("w", 6, priority=1)])
    assert (resized(result), evicted(result)) == ({}, {"e"})


def test_devices_freed_by_a_shrink_are_kept_and_not_grown_into() -> None:
    """While the workers leave and afterwards, until the beneficiary starts; then it all rests."""
    rows = [at_size(elastic("e", least=2, want=8), 8), job("w", 1, workers=3, priority=1)]
    result = plan(EIGHT, rows)
    assert result.reasons[rows[1].id].code is ReasonCode.WAITS_VICTIMS
    assert result.reasons[rows[1].id].params["job"] == "e"
    waiting = list(carried_out(snapshot(EIGHT, rows), result, now_ms=100_000).jobs)
    assert (sizes(plan(EIGHT, waiting)), plan(EIGHT, waiting).keeps) == ({}, result.keeps)
    assert sizes(plan(EIGHT, later(rows, result))) == {"w": 3}


SURPLUS: dict[str, tuple[list[Queue], Job, Policy, bool]] = {
    "to a higher priority of the queue": ([], job("w", 2, priority=1), Policy(), True),
    "not to an equal one": ([], job("w", 2), Policy(), False),
    "to an equal one by policy": ([], job("w", 2), SHARED, True),
    "never to a lower one": ([], job("w", 2, priority=-1), SHARED, False),
    "not before the minimum run time": ([], job("w", 2, priority=1), Policy(min_runtime_ms=200_000), False),
    "to a queue that reclaims": ([queue("p", guarantee=2)], job("w", 2, queue="p"), Policy(), True),
    "not from within the guarantee": (
        [queue("p", guarantee=2), queue("q", guarantee=8)],
        job("w", 2, queue="p"),
        Policy(),
        False,
    ),
    "not by a share without guarantee": ([queue("p")], job("w", 2, queue="p"), SHARED, False),
}


@pytest.mark.parametrize("name", SURPLUS)
def test_surplus_gives_way(name: str) -> None:
    """By the rights by which a whole job would; and among equals where the policy says so."""
    queues, waiting, policy, gives_way = SURPLUS[name]
    result = plan(EIGHT, [at_size(elastic("e", want=8), 8), waiting], queues, policy=policy)
    assert resized(result) == ({"e": (6, "w")} if gives_way else {})
    assert evicted(result) == set()


def test_equals_never_take_more_than_the_surplus() -> None:
    """Sharing surplus is no preemption."""
    rows = [at_size(elastic("e", least=4, want=8), 8), job("w", 5)]
    assert resized(plan(EIGHT, rows, policy=SHARED)) == {}


def test_a_whole_job_is_reclaimed_only_when_surplus_does_not_do() -> None:
    """Without its surplus the queue is within its guarantee, so the rigid job is safe, large as it is."""
    queues = [queue("q", guarantee=4), queue("p", guarantee=4)]
    rows = [
        at_size(job("rigid", 1, workers=3), 3),
        at_size(elastic("e", want=5), 5, first=3),
        job("w", 1, workers=4, queue="p"),
    ]
    result = plan(EIGHT, rows, queues)
    assert (resized(result), evicted(result)) == ({"e": (1, "w")}, set())


def test_a_limit_is_met_by_a_shrink() -> None:
    """Devices are free, the limit is used up by surplus."""
    rows = [at_size(elastic("e", want=4), 4), job("w", 1, workers=2, priority=1)]
    result = plan([node("n1", 16)], rows, [queue("q", limit=4)])
    assert resized(result) == {"e": (2, "w")}


def test_workers_that_leave_count_until_they_are_gone() -> None:
    """Their devices are not free yet, and neither is the limit."""
    shrinking = at_size(elastic("e", want=2), 4)
    shrinking = replace(shrinking, placement=shrinking.placement[:2], releasing=shrinking.placement[2:])
    result = plan([node("n1", 16)], [shrinking, job("w", 1, workers=2)], [queue("q", limit=4)])
    assert started(result) == {}
    reason = result.reasons[job("w").id]
    assert (reason.code, reason.params["used_milli"]) == (ReasonCode.LIMIT_NOW, 4000)


def test_the_given_case_of_growth_and_shrink_under_a_limit() -> None:
    """elastic-resize-accounting: 3, then 4 of 6 wanted; 2 wanted free two for W; 3 again when W ends."""
    queues = [queue("q", guarantee=4, limit=4)]
    rows = [elastic("e", want=3, most=10)]
    rows = later(rows, plan(EIGHT, rows, queues), queues=queues)
    assert len(rows[0].placement) == 3
    rows = [replace(rows[0], num_workers=6)]
    rows = later(rows, plan(EIGHT, rows, queues), queues=queues)
    assert len(rows[0].placement) == 4
    rows = [*rows, job("w", 1, workers=2, at=20)]
    assert plan(EIGHT, rows, queues).reasons[rows[1].id].code is ReasonCode.LIMIT_NOW
    rows = [replace(rows[0], num_workers=2), rows[1]]
    rows = later(rows, plan(EIGHT, rows, queues), queues=queues)
    rows = later(rows, plan(EIGHT, rows, queues), queues=queues)
    assert [len(row.placement) for row in rows] == [2, 2]
    rows = [replace(rows[0], num_workers=3), rows[1]]
    assert sizes(plan(EIGHT, rows, queues)) == {}
    assert sizes(plan(EIGHT, rows[:1], queues)) == {"e": 3}


def test_in_strict_order_nobody_passes_a_waiting_job_by_growing() -> None:
    """The job submitted before it may grow, the one after may not."""
    policy = Policy(order=Order.STRICT_FIFO)
    early = at_size(elastic("early", want=3, at=1), 2)
    late = at_size(elastic("late", want=3, at=9), 2, first=2)
    result = plan(EIGHT, [early, late, job("w", 8, at=5)], policy=policy)
    assert resized(result) == {"early": (3, "")}


def test_growth_delays_no_reservation() -> None:
    """The gang of eight starts when the other job's limit ends; nobody knows when the elastic one does."""
    short = running(job("short", 2, max_runtime_ms=200_000), "n1:2,3")
    rows = [at_size(elastic("e", want=8, at=0), 2), short, job("w", 6, at=5)]
    assert resized(plan(EIGHT, rows, policy=Policy(num_reservations=1))) == {}
    assert resized(plan(EIGHT, rows)) == {"e": (6, "")}


def test_growth_keeps_off_nodes_that_a_window_closes() -> None:
    """The elastic job is not known to end before the window."""
    nodes = [node("n1", 4), node("n2", 4)]
    rows = snapshot(nodes, [at_size(elastic("e", want=8), 2)])
    window = Window(name="w", nodes=frozenset({nodes[1].name}), starts_at_ms=200_000, ends_at_ms=300_000)
    result = decide(replace(rows, windows=(window,)), 100_000, Policy())
    assert {change.job: len(change.placement) for change in result.resizes} == {"e": 4}


def test_a_gang_that_is_told_to_leave_does_not_grow() -> None:
    """Nor does one that waits for its victims."""
    assert sizes(plan(EIGHT, [leaving(at_size(elastic("e", want=8), 2))])) == {}
