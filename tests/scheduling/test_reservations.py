"""Reservations and backfill: the earliest start at a place, and who may start without delaying it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.decide import decide
from scheduling.invariants import check
from scheduling.model import (
    Basis,
    EvictionKind,
    Help,
    Job,
    JobPhase,
    Node,
    NodeName,
    Order,
    Plan,
    Policy,
    Queue,
    ReasonCode,
    Runtimes,
    Window,
)
from scheduling.snapshot import Snapshot
from tests.scheduling import brute
from tests.scheduling.building import (
    LEVELS,
    evicted,
    job,
    leaving,
    node,
    on,
    queue,
    required,
    running,
    shown,
    started,
)
from tests.scheduling.rows import carried_out, snapshots

FOUR = [node(f"n{number}", 1) for number in range(1, 5)]
NOW_MS = 100_000


def limited(row: Job, seconds: int, **changes: Any) -> Job:
    """The job with a run time limit."""
    return replace(row, max_runtime_ms=seconds * 1000, **changes)


def window(name: str, *nodes: str, start: int, end: int) -> Window:
    """A maintenance window, in seconds."""
    names = frozenset(NodeName(each) for each in nodes)
    return Window(name=name, nodes=names, starts_at_ms=start * 1000, ends_at_ms=end * 1000)


def reserve(
    nodes: Iterable[Node],
    jobs: Iterable[Job],
    queues: Iterable[Queue] = (),
    *,
    at: int = 0,
    windows: Iterable[Window] = (),
    **policy: Any,
) -> Plan:
    """What the engine decides with one reservation (or as many as the policy says)."""
    rows = Snapshot.of(nodes=nodes, queues=queues, jobs=jobs, levels=LEVELS, windows=windows)
    plan = decide(rows, at * 1000, Policy(**{"num_reservations": 1, **policy}))
    assert check(rows, plan) == []
    return plan


def reserved(plan: Plan) -> dict[str, tuple[int, str]]:
    """For each reservation its start in seconds and its place."""
    return {each.job: (each.starts_at_ms // 1000, shown(each.placement)) for each in plan.reservations}


A, B = limited(running(job("a"), "n1:0"), 100), limited(running(job("b"), "n2:0"), 60)
BIG = limited(job("big", workers=4), 100)


def test_the_first_job_that_cannot_start_gets_the_earliest_start_that_limits_allow() -> None:
    """Of one gang over all four nodes: when the last running job has to end."""
    plan = reserve(FOUR, [A, B, BIG])
    assert reserved(plan) == {"big": (100, "n1:0 n2:0 n3:0 n4:0")}
    assert plan.reservations[0].basis is Basis.LIMITS


@pytest.mark.parametrize(("seconds", "starts"), [(90, True), (100, True), (101, False), (None, False)])
def test_a_job_behind_starts_only_if_it_ends_before_the_reservation(
    seconds: int | None, starts: bool
) -> None:
    """To the moment; a job that nobody knows the end of does not start."""
    small = job("small", at=1) if seconds is None else limited(job("small", at=1), seconds)
    plan = reserve(FOUR, [A, B, BIG, small])
    assert bool(started(plan)) is starts
    assert reserved(plan)["big"][0] == 100


def test_a_job_that_is_held_is_told_for_whom_until_when_and_what_would_help() -> None:
    """It fits on free devices, which are reserved for the gang ahead."""
    reason = reserve(FOUR, [A, B, BIG, limited(job("small", at=1), 200)]).reasons[job("small").id]
    assert (reason.code, reason.help) == (ReasonCode.KEPT_FOR_OTHER, Help.SHORTER_LIMIT)
    expected = {
        "job": "big",
        "starts_at_ms": 100_000,
        "kept_milli": 4000,
        "wanted_milli": 1000,
        "free_milli": 2000,
    }
    assert reason.params == expected


def test_where_the_reservation_is_about_to_start_a_shorter_limit_is_no_help() -> None:
    """Nobody sets a limit of less than a minute."""
    reason = reserve(FOUR, [A, B, BIG, limited(job("small", at=1), 200)], at=70).reasons[job("small").id]
    assert reason.help is Help.STARTS_AFTER_OTHER


def test_a_long_job_may_use_what_no_reservation_needs() -> None:
    """The gang takes the rack on which two jobs end at 60; the idle node of the other rack is anybody's."""
    nodes = [replace(each, domains={"rack": "ab"[each.name in ("n1", "n4")]}) for each in FOUR]
    gang = replace(BIG, num_workers=2, topology=required("rack"))
    plan = reserve(nodes, [A, B, gang, job("long", at=1), job("next", at=2)])
    assert started(plan) == {"long": "n4:0"}
    assert reserved(plan) == {"big": (60, "n2:0 n3:0")}


def test_without_a_reservation_policy_nobody_is_held() -> None:
    """Backfill is free then, and a gang can starve: that is what the policy is for."""
    plan = reserve(FOUR, [A, B, BIG, job("small", at=1)], num_reservations=0)
    assert len(started(plan)) == 1
    assert plan.reservations == ()


def test_only_as_many_jobs_as_the_policy_says_have_a_reservation() -> None:
    """In order of turn; the others wait without one."""
    jobs = [A, B, *(limited(job(f"g{n}", workers=4, at=n), 50) for n in range(4))]
    assert list(reserved(reserve(FOUR, jobs, num_reservations=2))) == ["g0", "g1"]


def test_a_later_reservation_stands_behind_an_earlier_one_or_beside_it() -> None:
    """After the gang, if it is too long to come before; else before it."""
    long, short = limited(job("later", workers=3, at=1), 41), limited(job("later", workers=3, at=1), 40)
    assert reserved(reserve(FOUR, [A, B, BIG, long], num_reservations=2))["later"][0] == 200
    assert reserved(reserve(FOUR, [A, B, BIG, short], num_reservations=2))["later"][0] == 60


def test_a_job_with_a_known_end_fits_between_two_reservations() -> None:
    """One begins at 100 on everything, one at 200: what ends by 100 may start now, nothing else."""
    second = limited(job("second", workers=4, at=1), 100)
    jobs = [A, B, BIG, second, limited(job("x", at=2), 100), limited(job("y", at=3), 150)]
    plan = reserve(FOUR, jobs, num_reservations=2)
    assert started(plan).keys() == {"x"}
    assert reserved(plan)["second"][0] == 200


def test_a_limit_is_reserved_as_well() -> None:
    """The gang needs all that its queue may use when it starts, though devices are free elsewhere."""
    rows = [queue("q", limit=4)]
    nodes = [*FOUR, node("n5", 1), node("n6", 1)]
    hold = limited(running(job("c", workers=1), "n3:0"), 80)
    wide = limited(job("wide", workers=4), 50)
    late, soon = limited(job("late", at=1), 81), limited(job("soon", at=1), 80)
    plan = reserve(nodes, [hold, wide, late], rows)
    assert reserved(plan)["wide"][0] == 80
    assert plan.reasons[late.id].code is ReasonCode.KEPT_FOR_OTHER
    assert started(reserve(nodes, [hold, wide, soon], rows)).keys() == {"soon"}


def test_the_reservation_waits_for_the_limits_of_all_ancestors() -> None:
    """Devices are free, but the parent's limit only when the sister's job ends."""
    rows = [queue("p", limit=4), queue("p/a", parent="p"), queue("p/b", parent="p")]
    sister = limited(running(job("s", 1, workers=1, queue="p/b"), "n1:0"), 70)
    gang = limited(job("gang", workers=4, queue="p/a"), 10)
    plan = reserve([*FOUR, node("n5", 1)], [sister, gang], rows)
    assert reserved(plan)["gang"][0] == 70


@pytest.mark.parametrize("limits", [{"type_limits": {"x": 2000}}, {"user_limit_milli": 2000}])
def test_the_reservation_waits_for_limits_of_types_and_users(limits: dict[str, Any]) -> None:
    """Each of them binds like the total."""
    holder = limited(running(job("r", user="u"), "n1:0"), 70)
    gang = limited(job("gang", workers=2, user="u"), 10)
    plan = reserve(FOUR, [holder, gang], [replace(queue("q"), **limits)])
    assert {name: at for name, (at, _) in reserved(plan).items()} == {"gang": 70}


def test_nothing_is_reserved_for_a_job_that_waits_for_others() -> None:
    """For one of an array at its cap, or for a dependent one: the device stays free for anybody."""
    holder = limited(running(job("r", array="arr", array_cap=1), "n1:0"), 70)
    barred = [job("next", array="arr", array_cap=1), job("then", depends_on=frozenset({holder.id}))]
    for row in barred:
        plan = reserve(FOUR, [holder, limited(row, 10), job("free", workers=3, at=1)])
        assert reserved(plan) == {}
        assert started(plan).keys() == {"free"}


def test_predictions_are_believed_if_the_policy_says_so_and_never_beyond_the_limit() -> None:
    """The reservation is sooner, and rests on a prediction; backfill is judged by the same measure."""
    a, b = replace(A, predicted_ms=50_000), replace(B, predicted_ms=900_000)
    small = limited(job("small", at=1), 90, predicted_ms=60_000)
    plan = reserve(FOUR, [a, b, BIG, small], runtimes=Runtimes.PREDICTIONS)
    assert (reserved(plan)["big"][0], plan.reservations[0].basis) == (60, Basis.PREDICTION)
    assert started(plan).keys() == {"small"}


def test_a_prediction_that_was_outlived_is_doubled() -> None:
    """Predicted 20 s, running for 30: expected for 60 in all; limited to 50, for no more than that."""
    for limit, expected in ((100, 60), (50, 50)):
        a = limited(running(job("a"), "n1:0"), limit, predicted_ms=20_000)
        plan = reserve(FOUR, [a, BIG], at=30, runtimes=Runtimes.PREDICTIONS)
        assert reserved(plan)["big"][0] == expected


def test_an_overdue_job_is_about_to_end_and_a_leaving_one_when_its_grace_is_over() -> None:
    """Neither is gone yet."""
    assert reserve(FOUR, [A, BIG], at=500).reservations[0].starts_at_ms == 500_001
    gone = leaving(replace(running(job("a"), "n1:0"), grace_ms=30_000))
    assert reserved(reserve(FOUR, [gone, BIG], at=500))["big"][0] == 530


def test_where_an_end_is_unknown_the_job_has_no_reservation_and_the_next_one_has() -> None:
    """Nobody knows when the whole cluster will be free; three nodes are known to be."""
    jobs = [running(job("a"), "n1:0"), B, BIG, limited(job("three", workers=3, at=1), 10)]
    assert reserved(reserve(FOUR, jobs)) == {"three": (60, "n2:0 n3:0 n4:0")}


def test_processors_count_at_the_reserved_time() -> None:
    """The device is free at 60, the processors beside it only at 90."""
    nodes = [node("n1", 2, cpus_milli=4000)]
    jobs = [
        limited(running(job("a", cpus_milli=1000), "n1:0"), 60),
        limited(running(job("b", 0, cpus_milli=3000), "n1:"), 90),
        limited(job("wide", 2, cpus_milli=2000), 10),
    ]
    assert reserved(reserve(nodes, jobs)) == {"wide": (90, "n1:0,1")}


def test_a_part_of_a_device_is_reserved_when_it_is_free() -> None:
    """Half of the device at 40, all of it at 80."""
    nodes = [node("n1", 1)]
    halves = [limited(running(job(f"h{n}", 0.5), "n1:0"), 40 * n) for n in (1, 2)]
    assert reserved(reserve(nodes, [*halves, limited(job("half", 0.5), 10)]))["half"][0] == 40
    assert reserved(reserve(nodes, [*halves, limited(job("whole", 1), 10)]))["whole"][0] == 80


def test_the_place_lies_inside_the_required_domain() -> None:
    """Two racks: one is free as a whole at 100, though two nodes of different racks are free at 60."""
    nodes = [
        node("n1", 1, rack="a"),
        node("n2", 1, rack="b"),
        node("n3", 1, rack="a"),
        node("n4", 1, rack="b"),
    ]
    c = limited(running(job("c"), "n3:0"), 60)
    d = limited(running(job("d"), "n4:0"), 200)
    pair = limited(job("pair", workers=2, topology=required("rack")), 10)
    assert reserved(reserve(nodes, [A, B, c, d, pair]))["pair"] == (100, "n1:0 n3:0")


def test_a_job_of_higher_right_is_not_held_by_a_reservation() -> None:
    """It takes back what its queue is guaranteed, whatever was reserved for a borrower."""
    rows = [queue("q"), queue("r", guarantee=1)]
    jobs = [limited(running(job(f"b{n}"), f"n{n}:0"), 100) for n in range(1, 5)]
    plan = reserve(FOUR, [*jobs, BIG, job("own", queue="r", at=1)], rows)
    assert len(evicted(plan)) == 1


def test_preemption_does_not_delay_a_reservation() -> None:
    """The job of equal rank behind the gang could evict a job of lower priority, but not for long enough."""
    low = limited(running(job("low", priority=-1), "n1:0"), 50)
    high = limited(running(job("high", priority=5), "n2:0"), 50)
    gang, behind = limited(job("gang", workers=4), 10), job("behind", at=1)
    nodes = [FOUR[0], FOUR[1], *(node(f"n{n}", 1, usable=False) for n in (3, 4))]
    gang = replace(gang, num_workers=2)
    plan = reserve(nodes, [low, high, gang, behind])
    assert (reserved(plan)["gang"][0], evicted(plan)) == (50, set())
    assert evicted(reserve(nodes, [low, high, gang, limited(behind, 50)])) == {"low"}


CLOSED = window("fans", "n1", "n2", start=50, end=150)


def test_nobody_starts_on_a_node_whose_window_begins_before_it_ends() -> None:
    """A short job may, a longer one and one without a limit go elsewhere or wait."""
    nodes = FOUR[:2]
    for row, starts in ((limited(job("j"), 50), True), (limited(job("j"), 51), False), (job("j"), False)):
        plan = reserve(nodes, [row], windows=[CLOSED], num_reservations=0)
        assert bool(started(plan)) is starts
    assert plan.reasons[job("j").id].code is ReasonCode.NO_CAPACITY
    assert plan.reasons[job("j").id].help is Help.SHORTER_LIMIT
    assert started(reserve(FOUR, [job("j")], windows=[CLOSED])) == {"j": "n3:0"}


def test_an_active_window_closes_its_nodes() -> None:
    """Until it ends; a job that could only run there is told to wait."""
    for at, starts in ((49, True), (50, False), (149, False), (150, True)):
        plan = reserve(FOUR[:2], [limited(job("j"), 1)], at=at, windows=[CLOSED], num_reservations=0)
        assert bool(started(plan)) is starts


def test_a_reservation_keeps_clear_of_windows() -> None:
    """Before it, if it ends in time; else after it, or elsewhere."""
    a = limited(running(job("a"), "n1:0"), 20)
    pair = limited(job("pair", workers=2), 30)
    assert reserved(reserve(FOUR[:2], [a, pair], windows=[CLOSED]))["pair"][0] == 20
    assert reserved(reserve(FOUR[:2], [a, limited(pair, 31)], windows=[CLOSED]))["pair"][0] == 150
    assert (
        reserved(reserve(FOUR[:2], [a, replace(pair, max_runtime_ms=None)], windows=[CLOSED]))["pair"][0]
        == 150
    )


def test_jobs_leave_the_nodes_of_a_window_in_time() -> None:
    """Told when nothing but their grace is left, unless their limit ends them before."""
    long = replace(running(job("long"), "n1:0"), grace_ms=10_000)
    ends = limited(replace(running(job("ends"), "n2:0"), grace_ms=10_000), 50)
    elsewhere = replace(running(job("else"), "n3:0"), grace_ms=10_000)
    for at, leaves in ((39, set()), (40, {"long"})):
        plan = reserve(FOUR, [long, ends, elsewhere], at=at, windows=[CLOSED])
        assert evicted(plan) == leaves
    assert [each.kind for each in plan.evictions] == [EvictionKind.MAINTENANCE]


def test_devices_are_not_kept_on_nodes_that_a_window_closes() -> None:
    """A window that was announced later withdraws what was kept."""
    victim = leaving(running(job("victim"), "n1:0"))
    winner = job("winner", workers=2, kept=on("n1:0", "n2:0"))
    assert reserve(FOUR[:2], [victim, winner]).keeps != ()
    assert reserve(FOUR[:2], [victim, winner], windows=[CLOSED]).keeps == ()


def test_under_strict_order_the_first_of_each_queue_is_reserved() -> None:
    """Those behind are told to wait for their turn, or for the reservation on what they would use."""
    jobs = [A, B, BIG, limited(job("short", at=1), 10), job("long", at=2)]
    plan = reserve(FOUR, jobs, order=Order.STRICT_FIFO)
    assert reserved(plan).keys() == {"big"}
    assert plan.reasons[job("short").id].code is ReasonCode.IN_ORDER
    long = plan.reasons[job("long").id]
    assert (long.code, long.help) == (ReasonCode.KEPT_FOR_OTHER, Help.STARTS_AFTER_OTHER)


@pytest.mark.parametrize(("seconds", "size"), [(100, 3), (101, 1)])
def test_an_elastic_job_does_not_grow_into_a_reservation(seconds: int, size: int) -> None:
    """Two nodes are idle until the gang takes them at 100: it grows only if its limit ends it before."""
    grows = limited(running(job("e", workers=3, min_workers=1), "n2:0"), seconds)
    plan = reserve(FOUR, [A, grows, replace(BIG, num_workers=3)])
    assert reserved(plan)["big"][0] == 100
    assert [len(change.placement) for change in plan.resizes] == ([size] if size > 1 else [])


POLICIES = [
    Policy(num_reservations=1),
    Policy(num_reservations=3),
    Policy(num_reservations=2, runtimes=Runtimes.PREDICTIONS),
    Policy(num_reservations=2, order=Order.STRICT_FIFO),
]
IDS = ["one", "three", "predictions", "strict"]


@st.composite
def timed_snapshots(draw: st.DrawFn) -> Snapshot:
    """Any small cluster on which most jobs have limits and predictions, and windows are planned."""
    rows = draw(snapshots())
    return replace(
        Snapshot.of(
            nodes=rows.nodes,
            queues=rows.queues,
            jobs=[draw(_timed(row)) for row in rows.jobs],
            levels=rows.levels,
            windows=draw(st.lists(_windows(rows), max_size=1)),
        )
    )


@st.composite
def _timed(draw: st.DrawFn, row: Job) -> Job:
    return replace(
        row,
        max_runtime_ms=draw(st.sampled_from([None, 20_000, 70_000, 120_000, 121_000, 240_000])),
        predicted_ms=draw(st.sampled_from([None, 10_000, 90_000, 130_000])),
        grace_ms=draw(st.sampled_from([0, 10_000])),
    )


@st.composite
def _windows(draw: st.DrawFn, rows: Snapshot) -> Window:
    start = draw(st.integers(6, 18)) * 10_000
    return Window(
        name="w",
        nodes=frozenset(draw(st.sets(st.sampled_from([node.name for node in rows.nodes]), min_size=1))),
        starts_at_ms=start,
        ends_at_ms=start + draw(st.integers(1, 10)) * 10_000,
    )


@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
@given(rows=timed_snapshots())
@settings(max_examples=60, deadline=None)
def test_no_plan_with_reservations_breaks_an_invariant(policy: Policy, rows: Snapshot) -> None:
    """What starts, leaves, is kept and told is right with reservations and windows too."""
    assert check(rows, decide(rows, NOW_MS, policy)) == []


@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
@given(rows=timed_snapshots())
@settings(max_examples=60, deadline=None)
def test_deciding_again_changes_no_reservation(policy: Policy, rows: Snapshot) -> None:
    """Carried out, the plan starts nobody more, evicts nobody more, and reserves the same."""
    plan = decide(rows, NOW_MS, policy)
    again = decide(carried_out(rows, plan, now_ms=NOW_MS), NOW_MS, policy)
    assert (again.starts, again.evictions, again.keeps) == ((), (), plan.keeps)
    assert again.reservations == plan.reservations
    assert again.etas == plan.etas


@given(rows=timed_snapshots(), seed=st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_order_of_the_rows_does_not_matter_to_reservations(rows: Snapshot, seed: Any) -> None:
    """Equal rows in any order reserve the same."""
    mixed = {
        name: seed.sample(list(getattr(rows, name)), len(getattr(rows, name))) for name in ("nodes", "jobs")
    }
    other = Snapshot.of(**mixed, queues=rows.queues, levels=rows.levels, windows=rows.windows)
    assert decide(other, NOW_MS, POLICIES[1]) == decide(rows, NOW_MS, POLICIES[1])


@given(rows=timed_snapshots())
@settings(max_examples=150, deadline=None)
def test_no_start_behind_a_reservation_delays_it(rows: Snapshot) -> None:
    """Without the jobs that started behind it, the first reservation would be no sooner."""
    policy = Policy(num_reservations=1, order=Order.STRICT_FIFO)
    rows = replace(
        rows, jobs=tuple(replace(row, queue=queue("one").path, preemptible=False) for row in rows.jobs)
    )
    rows = _in_two_queues(rows)
    plan = decide(rows, NOW_MS, policy)
    for reservation in plan.reservations:
        first = next(row for row in rows.jobs if row.id == reservation.job)
        ahead = {row.id for row in rows.jobs if _turn(row) <= _turn(first)}
        kept = {row.id for row in rows.jobs if row.phase is not JobPhase.WAITING}
        alone = replace(rows, jobs=tuple(row for row in rows.jobs if row.id in ahead | kept))
        expected = [each.starts_at_ms for each in decide(alone, NOW_MS, policy).reservations]
        assert expected == [reservation.starts_at_ms]


def _turn(row: Job) -> tuple[int, int, str]:
    return -row.priority, row.submitted_at_ms, row.id


def _in_two_queues(rows: Snapshot) -> Snapshot:
    """Every second job in a queue of its own line, so that strict order blocks not all behind the first."""
    paths = (queue("even").path, queue("odd").path)
    jobs = tuple(replace(row, queue=paths[number % 2]) for number, row in enumerate(rows.jobs))
    return replace(rows, jobs=jobs, queues=())


def _without_rights(rows: Snapshot, **changes: Any) -> Snapshot:
    """The same rows, of which nobody can be evicted."""
    jobs = tuple(replace(row, preemptible=False, **changes) for row in rows.jobs)
    return replace(rows, jobs=jobs)


@given(rows=timed_snapshots())
@settings(max_examples=300, deadline=None)
def test_the_reserved_time_is_the_earliest_that_brute_force_finds(rows: Snapshot) -> None:
    """By trying each moment at which anything becomes free: limits, places, windows, processors and all."""
    rows = _without_rights(rows)
    row = min((row for row in rows.jobs if row.phase is JobPhase.WAITING), key=_turn)
    others = tuple(other for other in rows.jobs if other.phase is not JobPhase.WAITING)
    rows = replace(rows, jobs=(*others, row))
    plan = decide(rows, NOW_MS, POLICIES[0])
    rows = carried_out(rows, plan, now_ms=NOW_MS)
    if not plan.starts:
        earliest = brute.earliest_start(rows, row, [], now_ms=NOW_MS)
        assert [each.starts_at_ms for each in plan.reservations] == ([] if earliest is None else [earliest])


@given(rows=timed_snapshots())
@settings(max_examples=300, deadline=None)
def test_beside_another_reservation_it_is_the_earliest_too(rows: Snapshot) -> None:
    """Before, beside or after the first one, by devices and windows alone."""
    queues = tuple(replace(row, limit_milli=None) for row in rows.queues)
    rows = replace(_without_rights(rows, cpus_milli=0), queues=queues)
    plan = decide(rows, NOW_MS, Policy(num_reservations=2))
    rows = carried_out(rows, plan, now_ms=NOW_MS)
    jobs = {row.id: row for row in rows.jobs}
    if len(plan.reservations) == 2 and not plan.starts:
        first, second = sorted(plan.reservations, key=lambda each: _turn(jobs[each.job]))
        if jobs[first.job].queue == jobs[second.job].queue:
            earliest = brute.earliest_start(rows, jobs[second.job], [first], now_ms=NOW_MS)
            assert second.starts_at_ms == earliest
