"""What a queue and a job may count on: a guarantee can always be had, and nobody waits for ever."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.decide import decide
from scheduling.model import EvictionKind, Job, JobPhase, Policy
from scheduling.snapshot import Snapshot
from tests.scheduling.building import job, node, queue, running, snapshot
from tests.scheduling.rows import carried_out, gone

NOW_MS = 100_000
STEP_MS = 10_000


@st.composite
def borrowed(draw: st.DrawFn) -> tuple[Snapshot, Job]:
    """One-device jobs of queues without a guarantee on any of the devices, and a gang within the guarantee of
    a queue that uses less than that.
    """
    nodes = [node(f"n{number}", draw(st.integers(1, 4))) for number in range(draw(st.integers(1, 4)))]
    spots = [f"{each.name}:{device}" for each in nodes for device in range(each.num_devices)]
    busy = draw(st.lists(st.sampled_from(spots), unique=True))
    rows = [
        running(
            job(f"r{number}", 1, queue=draw(st.sampled_from(["b", "c"])), priority=draw(st.integers(0, 9))),
            spot,
            since=draw(st.integers(0, 99)),
        )
        for number, spot in enumerate(busy)
    ]
    guarantee = draw(st.integers(1, len(spots)))
    claimant = job("w", 1, workers=draw(st.integers(1, guarantee)), queue="a")
    queues = [queue("a", guarantee=guarantee), queue("b", weight=3), queue("c")]
    return snapshot(nodes, [*rows, claimant], queues), claimant


@given(case=borrowed(), num_reservations=st.sampled_from([0, 4]))
@settings(max_examples=200, deadline=None)
def test_a_guaranteed_share_can_always_be_had(case: tuple[Snapshot, Job], num_reservations: int) -> None:
    """The gang starts at once, or as soon as those are gone whom it reclaims from, of any priority."""
    rows, claimant = case
    policy = Policy(num_reservations=num_reservations)
    plan = decide(rows, NOW_MS, policy)
    if not plan.starts:
        assert plan.evictions
        assert all(each.kind is EvictionKind.RECLAIM for each in plan.evictions)
        plan = decide(gone(carried_out(rows, plan, now_ms=NOW_MS)), NOW_MS, policy)
    assert claimant.id in [start.job for start in plan.starts]


def first_start_of_the_gang(policy: Policy, seed: int, *, num_steps: int) -> int | None:
    """The step at which a gang for the whole cluster starts, while small jobs with limits keep coming."""
    rng = random.Random(seed)
    gang = replace(job("gang", 4, workers=2, queue="q"), max_runtime_ms=60_000)
    rows = snapshot([node("n1", 4), node("n2", 4)], [], [queue("q")])
    for step in range(num_steps):
        now_ms = step * STEP_MS
        small = [
            replace(
                job(f"s{step:03}-{n}", rng.choice((1, 2)), queue="q"),
                max_runtime_ms=rng.randint(2, 6) * STEP_MS,
            )
            for n in range(3)
        ]
        arrivals = [replace(row, submitted_at_ms=now_ms) for row in (*small, *([gang] if step == 3 else []))]
        rows = rows.with_event(jobs=arrivals, gone=[row.id for row in rows.jobs if is_over(row, now_ms)])
        plan = decide(rows, now_ms, policy)
        if gang.id in [start.job for start in plan.starts]:
            return step
        rows = carried_out(rows, plan, now_ms=now_ms)
    return None


def is_over(row: Job, now_ms: int) -> bool:
    """Whether a running job has reached its limit."""
    runs = row.phase is JobPhase.PLACED and row.placed_at_ms is not None and row.max_runtime_ms is not None
    return runs and (row.placed_at_ms or 0) + (row.max_runtime_ms or 0) <= now_ms


@pytest.mark.parametrize("seed", range(8))
def test_a_large_gang_does_not_starve_under_a_stream_of_small_jobs(seed: int) -> None:
    """With a reservation it starts when those ahead of it (twelve at most, of two devices and six steps each)
    have had their turn on the eight devices, and the last of them has ended; with none it does not start
    while small jobs keep coming.
    """
    assert first_start_of_the_gang(Policy(), seed, num_steps=60) is None
    start = first_start_of_the_gang(Policy(num_reservations=1), seed, num_steps=60)
    assert start is not None
    assert start <= 3 + 12 * 2 * 6 // 8 + 6
