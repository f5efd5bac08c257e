"""The engine in the replay: the same figures as the baselines by the same rules, and an exact ledger."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from scheduling.model import JobPhase, Order, Policy
from scheduling.simulation import kalos, philly
from scheduling.simulation.rigid.engine import Engine, job_id
from scheduling.simulation.rigid.fleet import Fleet
from scheduling.simulation.rigid.outages import outages
from scheduling.simulation.rigid.queueing import Easy, InOrder, by_arrival
from scheduling.simulation.rigid.replay import Replayed, Rules, Scheduler, State, replay
from scheduling.simulation.rigid.runs import RigidJob
from scheduling.simulation.traces import ReplayOptions

TRACES = Path(__file__).parents[4] / "shared" / "traces"
WEEK_MS = 7 * 86_400_000


def week(seed: int, *, num_jobs: int = 60) -> list[RigidJob]:
    """A week of jobs of 1 to 16 devices, drawn."""
    random = np.random.default_rng(seed)
    submitted = np.sort(random.integers(0, WEEK_MS, num_jobs))
    return [
        RigidJob(
            number=number,
            submitted_ms=int(submitted[number]),
            runtime_ms=int(runtime_ms := random.lognormal(17.5, 1.2)),
            num_devices=int(random.choice([1, 2, 4, 8, 12, 16])),
            user=str(random.choice(["ann", "bob"])),
            limit_ms=int(runtime_ms * random.uniform(1, 3)) + 1,
        )
        for number in range(num_jobs)
    ]


def mean_s(replayed: Replayed) -> float:
    """Mean job completion time."""
    return float(np.mean([(run.ended_ms or 0) - run.job.submitted_ms for run in replayed.runs])) / 1000


class Ledger:
    """Compares, after every decision, what the snapshot says with what the nodes hold."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.num_looks = 0

    def __call__(self, state: State, now_ms: int) -> None:
        """Usage is the sum of the holdings, on each node and in all; no device twice."""
        snapshot = self._engine.snapshot
        devices = Counter(
            (int(worker.node), device)
            for job in snapshot.jobs
            if job.phase is not JobPhase.WAITING
            for worker in job.placement
            for device in worker.devices
        )
        assert max(devices.values(), default=1) == 1
        held = Counter(node for node, _ in devices)
        for node in range(state.fleet.num_nodes):
            capacity = state.fleet.per_node if state.fleet.is_up[node] else 0
            assert held[node] == capacity - state.fleet.free[node]
        placed = {job.id for job in snapshot.jobs if job.phase is JobPhase.PLACED}
        assert placed == {job_id(run.job) for run in state.running.values()}
        assert sum(run.job.num_devices for run in state.running.values()) == len(devices)
        self.num_looks += 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "policy",
    [
        Policy(order=Order.LEAST_ATTAINED, damps_size=True),
        Policy(order=Order.SHORTEST_REMAINING, num_reservations=2, preempts=False),
        Policy(order=Order.STRICT_FIFO),
    ],
    ids=["least attained", "shortest with reservations", "fifo"],
)
def test_a_week_with_failures_keeps_the_ledger_exact(policy: Policy, seed: int) -> None:
    """Nodes fail and recover, jobs are evicted and restart, and at every event the books agree."""
    fleet = Fleet(num_nodes=4, per_node=8)
    engine = Engine(policy, fleet=fleet, quantile=0.5)
    ledger = Ledger(engine)
    failing = outages(num_nodes=4, per_node=8, per_device_day=0.05, until_ms=4 * WEEK_MS, seed=seed)
    rules = Rules(round_ms=60_000, restart_ms=60_000)
    replayed = replay(week(seed), engine, fleet=fleet, rules=rules, outages=failing, observe=ledger)
    assert ledger.num_looks > 100
    assert sum(run.num_starts - 1 for run in replayed.runs) > 0
    for run in replayed.runs:
        assert run.ended_ms is not None
        lost_ms = run.lost_device_ms // run.job.num_devices
        assert run.held_ms == run.job.runtime_ms + lost_ms  # every held moment is accounted for
    assert fleet.num_free == sum(fleet.per_node for up in fleet.is_up if up)


@pytest.mark.parametrize(
    ("policy", "baseline"),
    [
        (Policy(order=Order.STRICT_FIFO), InOrder(by_arrival, skips=False)),
        (Policy(), InOrder(by_arrival, skips=True)),
        (Policy(num_reservations=1), Easy()),
    ],
    ids=["fifo", "backfill", "easy"],
)
def test_the_engine_told_to_be_a_baseline_is_that_baseline(policy: Policy, baseline: Scheduler) -> None:
    """The first hundred jobs of Kalos, placed by two implementations: equal ends."""
    trace = kalos.read(TRACES, scale=8.0)[:100]

    def ends(scheduler: Scheduler) -> list[int | None]:
        fleet = Fleet(num_nodes=128, per_node=8)
        return [run.ended_ms for run in replay(trace, scheduler, fleet=fleet, rules=Rules()).runs]

    assert ends(Engine(policy, fleet=Fleet(num_nodes=128, per_node=8))) == ends(baseline)


@pytest.mark.parametrize(
    ("policy", "mean", "p99"), [("fifo", 162_437, 552_024), ("backfill", 129_198, 892_804)]
)
def test_kalos_baselines_reach_the_figures_measured_before(policy: str, mean: float, p99: float) -> None:
    """Average completion time and 99th percentile of queueing, within two percent."""
    told = kalos.TRACE.run(TRACES, ReplayOptions(policy=policy))
    metrics = told["metrics"]
    assert isinstance(metrics, dict)
    assert metrics["jct_s"]["avg"] == pytest.approx(mean, rel=0.02)
    assert metrics["queueing_s"]["p99"] == pytest.approx(p99, rel=0.02)


def test_kalos_easy_backfill_is_near_the_figure_measured_before() -> None:
    """Six draws of loose limits."""
    average, p99 = (row.value for row in kalos.rows(TRACES, policies=["easy"]))
    assert average == pytest.approx(123_296, rel=0.02)
    assert p99 == pytest.approx(527_824, rel=0.02)


def test_a_philly_prefix_replays_by_every_policy() -> None:
    """All jobs end, and nobody without an oracle beats the oracle by more than chance."""
    averages = {}
    for policy in philly.TRACE.policies:
        told = philly.TRACE.run(TRACES, ReplayOptions(policy=policy, max_jobs=300))
        metrics = told["metrics"]
        assert isinstance(metrics, dict)
        assert metrics["num_finished"] == 300
        averages[policy] = metrics["jct_s"]["avg"]
    assert min(averages.values()) >= 0.95 * averages["srtf_oracle"]


def test_predictions_are_learnt_while_the_trace_is_replayed() -> None:
    """After ten ended jobs of one kind, the next one's row carries what was seen."""
    trace = [
        RigidJob(number=n, submitted_ms=n * 100_000, runtime_ms=60_000, num_devices=1) for n in range(12)
    ]
    fleet = Fleet(num_nodes=1, per_node=8)
    engine = Engine(Policy(), fleet=fleet, quantile=0.5)
    seen: list[int | None] = []

    def look(state: State, now_ms: int) -> None:
        seen.extend(job.predicted_ms for job in engine.snapshot.jobs)

    replay(trace, engine, fleet=fleet, rules=Rules(), observe=look)
    assert seen[0] is None
    assert seen[-1] == pytest.approx(60_000, rel=0.1)
