"""The checker's conditions: each is named when a plan breaks it, and not when it is just met."""

from dataclasses import replace
from typing import Any

import pytest

from scheduling.invariants import check
from scheduling.model import (
    Evict,
    EvictionKind,
    Job,
    JobId,
    Keep,
    NodeName,
    Order,
    Plan,
    Policy,
    Reason,
    ReasonCode,
    Resize,
    Selector,
    Start,
    Window,
)
from scheduling.snapshot import Snapshot
from tests.scheduling.building import job, leaving, node, on, queue, running, snapshot

NOW_MS = 100_000
NODES = [node("n1"), node("n2", accelerator_type="y")]


def found(rows: Snapshot, **planned: str) -> list[str]:
    """What the checker says of starts at these places; "kept" before a job's name makes it a keep."""
    starts = {JobId(name): on(*at.split()) for name, at in planned.items() if not name.startswith("kept")}
    keeps = {JobId(name[4:]): on(*at.split()) for name, at in planned.items() if name.startswith("kept")}
    left = [row.id for row in rows.jobs if not row.placement and row.id not in starts]
    plan = Plan(
        starts=tuple(Start(job=name, placement=at, accelerator_type="") for name, at in starts.items()),
        keeps=tuple(Keep(job=name, placement=at) for name, at in keeps.items()),
        reasons=dict.fromkeys(left, Reason(code=ReasonCode.NO_CAPACITY)),
    )
    return check(rows, plan, now_ms=NOW_MS)


@pytest.mark.parametrize("name", ["w", "keptw"])
def test_nobody_is_given_devices_before_the_job_it_waits_for_has_ended(name: str) -> None:
    """Neither now nor later; one that is not in the snapshot has ended."""
    rows = [job("w", depends_on=frozenset({JobId("r"), JobId("ended")})), running(job("r"), "n1:0")]
    assert found(snapshot(NODES, rows), **{name: "n1:1"}) == ["w does not wait for r"]
    assert found(snapshot(NODES, rows[:1]), **{name: "n1:1"}) == []


def test_an_arrays_cap_counts_whoever_holds_or_is_promised_devices() -> None:
    """One leaves: its successor may be promised devices, but not start."""
    capped: dict[str, Any] = {"array": "a", "array_cap": 1}
    rows = [job("w", **capped), job("v", **capped), leaving(running(job("r", **capped), "n1:0"))]
    assert found(snapshot(NODES, rows), w="n1:1") == ["w: 2 of its array hold devices, 1 may"]
    assert found(snapshot(NODES, rows), keptw="n1:0") == []
    problems = found(snapshot(NODES, rows), keptw="n1:0", keptv="n1:1")
    assert problems == [f"{name}: 2 of its array are promised devices, 1 may" for name in "vw"]


def test_a_users_limit_counts_the_whole_subtree() -> None:
    """What the user has in another queue below the limit, leaving or not; another user has his own."""
    queues = [queue("a", user_limit_milli=2000), queue("a/x", parent="a"), queue("a/y", parent="a")]
    rows = [job("w", 2, queue="a/x", user="u"), leaving(running(job("r", queue="a/y", user="u"), "n1:0"))]
    assert found(snapshot(NODES, rows, queues), w="n1:1,2") == [
        "a, user u: 3000 milli are used, the limit is 2000"
    ]
    assert found(snapshot(NODES, rows, queues), keptw="n1:0,1") == []
    other = [replace(rows[0], user="v"), rows[1]]
    assert found(snapshot(NODES, other, queues), w="n1:1,2") == []


def test_a_types_limit_counts_that_type_alone() -> None:
    """Two are allowed of x, where one runs; of y there is no limit."""
    queues = [queue("q", type_limits={"x": 2000})]
    rows = [job("w", 2), running(job("r"), "n1:0")]
    sentence = "q, type x: 3000 milli are {}, the limit is 2000"
    problems = found(snapshot(NODES, rows, queues), w="n1:1,2")
    assert problems == [sentence.format("used"), sentence.format("promised")]
    assert found(snapshot(NODES, rows, queues), keptw="n1:1,2") == [sentence.format("promised")]
    assert found(snapshot(NODES, rows, queues), w="n2:1,2") == []


@pytest.mark.parametrize("name", ["w", "keptw"])
@pytest.mark.parametrize(
    ("limit_ms", "is_met"), [(None, True), (50_001, True), (50_000, False)], ids=["none", "long", "short"]
)
def test_nobody_goes_where_a_window_begins_before_its_end(
    name: str, limit_ms: int | None, is_met: bool
) -> None:
    """It begins at second 150; whoever has no limit ends never. Other nodes are not concerned."""
    nodes = frozenset({NodeName("n1")})
    window = Window(name="m", nodes=nodes, starts_at_ms=150_000, ends_at_ms=200_000)
    rows = replace(snapshot(NODES, [job("w", max_runtime_ms=limit_ms)]), windows=(window,))
    assert found(rows, **{name: "n1:0"}) == (["w: meets the window m"] if is_met else [])
    assert found(rows, **{name: "n2:0"}) == []
    over = replace(rows, windows=(replace(window, starts_at_ms=0, ends_at_ms=NOW_MS),))
    assert found(over, **{name: "n1:0"}) == []


def test_nobody_grows_into_a_window() -> None:
    """The job's end counts from its start."""
    row = running(job("e", min_workers=1, max_workers=2, max_runtime_ms=60_000), "n1:0", since=90)
    row = replace(row, num_workers=2)
    window = Window(name="m", nodes=frozenset({NodeName("n1")}), starts_at_ms=149_999, ends_at_ms=200_000)
    plan = Plan(resizes=(Resize(job=JobId("e"), placement=on("n1:0", "n1:1")),))
    rows = replace(snapshot(NODES, [row]), windows=(window,))
    assert check(rows, plan, now_ms=NOW_MS) == ["e: meets the window m"]
    later = replace(rows, windows=(replace(window, starts_at_ms=150_000),))
    assert check(later, plan, now_ms=NOW_MS) == []


def test_a_worker_goes_only_to_nodes_that_are_selected() -> None:
    """By their name, as by any label."""
    chosen = job("w", selectors=(Selector(label="node", values=frozenset({"n2"})),))
    assert found(snapshot(NODES, [chosen]), w="n1:0") == ["w: n1 is not among those selected"]
    assert found(snapshot(NODES, [chosen]), w="n2:0") == []


def _evicting(policy: Policy, *, since: int = 0, winners: str = "ww") -> list[str]:
    """What is said of two victims, for one gang or for two jobs of higher priority."""
    victims = [running(job(f"r{at}"), f"n1:{at}", since=since) for at in range(2)]
    names = sorted(set(winners))
    waiting = [job(name, workers=2 // len(names), priority=1) for name in names]
    places = {"w": ("n1:0", "n1:1")} if len(names) == 1 else {"v": ("n1:0",), "w": ("n1:1",)}
    plan = Plan(
        evictions=tuple(
            Evict(job=victim.id, beneficiary=JobId(winner), kind=EvictionKind.PREEMPT)
            for victim, winner in zip(victims, winners, strict=True)
        ),
        keeps=tuple(Keep(job=JobId(name), placement=on(*places[name])) for name in names),
        reasons={JobId(name): Reason(code=ReasonCode.WAITS_VICTIMS) for name in names},
        policy=policy,
    )
    return check(snapshot(NODES, [*victims, *waiting]), plan, now_ms=NOW_MS)


def test_only_the_first_claim_may_pass_the_budget() -> None:
    """One gang needs two victims; two jobs need one each."""
    assert _evicting(Policy(max_evictions=1)) == []
    assert _evicting(Policy(max_evictions=2), winners="vw") == []
    said = _evicting(Policy(max_evictions=1), winners="vw")
    assert said == ["2 evictions for several, the policy allows 1"]


def test_nobody_is_preempted_too_soon_or_where_the_policy_does_not() -> None:
    """Fifty seconds are enough for fifty."""
    assert _evicting(Policy(min_runtime_ms=50_000), since=50) == []
    said = _evicting(Policy(min_runtime_ms=50_000), since=51)
    assert said == [f"r{at} runs for too short a time to be preempted" for at in range(2)]
    said = _evicting(Policy(preempts=False))
    assert said == [f"r{at} is preempted, the policy does not" for at in range(2)]


def _shrinking(policy: Policy) -> list[str]:
    """What is said of surplus that goes to a job of equal priority."""
    row: Job = running(job("e", workers=2, min_workers=1), "n1:0", "n1:1")
    plan = Plan(
        resizes=(Resize(job=row.id, placement=on("n1:0"), beneficiary=JobId("w")),),
        keeps=(Keep(job=JobId("w"), placement=on("n1:1")),),
        reasons={JobId("w"): Reason(code=ReasonCode.WAITS_VICTIMS)},
        policy=policy,
    )
    return check(snapshot(NODES, [row, job("w")]), plan, now_ms=NOW_MS)


def test_surplus_goes_to_equals_where_the_order_ranks_them() -> None:
    """By attained service, or where it is shared anyway; else only to a higher priority."""
    assert _shrinking(Policy(order=Order.LEAST_ATTAINED)) == []
    assert _shrinking(Policy(shares_surplus=True)) == []
    assert _shrinking(Policy()) == ["e for w: its priority is not lower"]
