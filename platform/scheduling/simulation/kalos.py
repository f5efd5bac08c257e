"""Kalos: large language model jobs on a cluster of 1,024 devices, up to all of them for one job.

Event-driven. Arrivals come four times as fast as in the trace, which makes jobs wait. Policies from `engine`
to `sjf_oracle` evict nobody; the `preemptive` ones and those after it do, at 600 s for each restart. Users'
limits are loose: one to three times the run time, drawn by the seed, known to EASY and to `engine`
alone.
"""

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from scheduling.model import Order, Policy, Runtimes
from scheduling.simulation.metrics import spread
from scheduling.simulation.report import Row
from scheduling.simulation.rigid.engine import Engine
from scheduling.simulation.rigid.fleet import Fleet
from scheduling.simulation.rigid.queueing import Easy, InOrder, by_arrival, by_runtime
from scheduling.simulation.rigid.replay import Scheduler
from scheduling.simulation.rigid.runs import RigidJob
from scheduling.simulation.rigid.service import LeastAttained, ShortestRemaining
from scheduling.simulation.rigid.setting import SECOND_MS, Defaults, record_of, result, rules_of, run, wait_s
from scheduling.simulation.traces import ReplayOptions, Trace

ARRIVAL_SCALE = 4.0
LOOSEST = 3.0  # times the run time
SEEDS = range(6)
DEFAULTS = Defaults(num_nodes=128, restart_s=600)
LAS_QUANTUM_S = 30_000  # device-seconds of level 0; this, and running jobs first in a level, do best here
NUM_LEVELS = 25

QUEUED = Policy(order=Order.SHORTEST_REMAINING, num_reservations=1, preempts=False, ageing_percent=10)
PREDICTED = replace(QUEUED, runtimes=Runtimes.PREDICTIONS)
PREEMPTIVE = Policy(
    order=Order.LEAST_ATTAINED, damps_size=True, service_quantum_milli_ms=3_000_000 * SECOND_MS
)
PREDICTED_QUANTILE = 0.5
WITHOUT_LIMITS = ("engine_predictions", "engine_preemptive")  # the baselines beside them know none either

MAKE: Mapping[str, Callable[[Fleet], Scheduler]] = {
    "engine": lambda fleet: Engine(QUEUED, fleet=fleet),
    "engine_predictions": lambda fleet: Engine(PREDICTED, fleet=fleet, quantile=PREDICTED_QUANTILE),
    "fifo": lambda fleet: InOrder(by_arrival, skips=False),  # noqa: ARG005
    "backfill": lambda fleet: InOrder(by_arrival, skips=True),  # noqa: ARG005
    "easy": lambda fleet: Easy(),  # noqa: ARG005
    "sjf_oracle": lambda fleet: InOrder(by_runtime, skips=True),  # noqa: ARG005
    "engine_preemptive": lambda fleet: Engine(PREEMPTIVE, fleet=fleet),
    "las": lambda fleet: LeastAttained(  # noqa: ARG005
        num_levels=NUM_LEVELS, quantum_ms=LAS_QUANTUM_S * SECOND_MS, runs_on=True
    ),
    "srtf_oracle": lambda fleet: ShortestRemaining(),  # noqa: ARG005
}


def read(traces: Path, *, scale: float = ARRIVAL_SCALE, seed: int | None = 0) -> list[RigidJob]:
    """The jobs; `seed` None: without limits."""
    with (traces / "kalos" / "jobs.csv").open() as file:
        rows = list(csv.DictReader(file))
    loose = None if seed is None else np.random.default_rng(seed).uniform(1, LOOSEST, len(rows))
    return [
        RigidJob(
            number=number,
            submitted_ms=round(float(row["submit_s"]) * SECOND_MS / scale),
            runtime_ms=(runtime_ms := round(float(row["duration_s"]) * SECOND_MS)),
            num_devices=int(row["num_gpus"]),
            user="pretrain" if row["is_pretrain"] == "1" else "other",
            limit_ms=None if loose is None else int(runtime_ms * loose[number]) + 1,
        )
        for number, row in enumerate(rows)
    ]


def rows(traces: Path, *, policies: Iterable[str] = MAKE, seeds: Iterable[int] = SEEDS) -> list[Row]:
    """The quality table's rows: means over the seeds of the limits."""
    chosen = tuple(seeds)
    return [row for policy in policies for row in _rows(traces, policy, chosen)]


PUBLISHED: Mapping[str, tuple[float, float]] = {  # mean JCT and p99 of the wait, measured before
    "fifo": (162_437, 552_024),
    "backfill": (129_198, 892_804),
    "easy": (123_296, 527_824),
    "las": (29_191, 322_958),
    "engine_predictions": (132_162, 515_769),  # FIFO with a reservation
}
BARS: Mapping[str, tuple[float, float]] = {
    "engine": (85_000, 552_000),
    "engine_preemptive": (32_000, 400_000),
    "engine_predictions": (135_000, 552_000),
}


def _rows(traces: Path, policy: str, seeds: tuple[int, ...]) -> list[Row]:
    """Mean JCT and the 99th percentile of all waiting, which for those never evicted is their queueing."""
    means, waits = [], []
    for seed in seeds if policy in ("easy", "engine") else seeds[:1]:
        options = ReplayOptions(policy=policy, seed=seed)
        replayed, _ = run(_jobs(traces, options), MAKE[policy], options, DEFAULTS)
        means.append(spread(record_of(each).jct_s for each in replayed.runs).avg or 0.0)
        waits.append(spread(wait_s(each) for each in replayed.runs).p99 or 0.0)
    published, bars = PUBLISHED.get(policy), BARS.get(policy)
    found = []
    for at, (metric, values) in enumerate((("avg JCT", means), ("p99 wait", waits))):
        row = Row(
            work="kalos",
            policy=policy,
            metric=metric,
            value=float(np.mean(values)),
            unit="s",
            published=published and published[at],
        )
        found.append(row.held_to(at_most=bars[at]) if bars else row)
    return found


def _jobs(traces: Path, options: ReplayOptions) -> list[RigidJob]:
    seed = None if options.policy in WITHOUT_LIMITS else options.seed
    return read(traces, scale=options.arrival_scale or ARRIVAL_SCALE, seed=seed)[: options.max_jobs]


def _run(traces: Path, options: ReplayOptions) -> Mapping[str, object]:
    replayed, fleet = run(_jobs(traces, options), MAKE[options.policy], options, DEFAULTS)
    return result("kalos", options, replayed, fleet, rules_of(options, DEFAULTS))


TRACE = Trace(name="kalos", policies=tuple(MAKE), run=_run)
