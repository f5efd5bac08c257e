"""Philly: 82,247 jobs of 109 days on 64 nodes with 8 devices each; nobody knows how long a job will run.

Decisions in rounds of 60 s, and 60 s for each restart; `--round-seconds 0` for the event-driven figures. The
engine orders by attained service, damped by the size of the gang, and inside a level by predictions that it
learns from the jobs before. EASY is missing: the trace has no limits to reserve by.
"""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from scheduling.model import Order, Policy, Runtimes
from scheduling.simulation.metrics import spread
from scheduling.simulation.report import Row
from scheduling.simulation.rigid.engine import Engine
from scheduling.simulation.rigid.fleet import Fleet
from scheduling.simulation.rigid.queueing import InOrder, by_arrival, by_runtime
from scheduling.simulation.rigid.replay import Scheduler
from scheduling.simulation.rigid.runs import RigidJob, Run
from scheduling.simulation.rigid.service import LeastAttained, ShortestRemaining
from scheduling.simulation.rigid.setting import SECOND_MS, Defaults, record_of, result, rules_of, run
from scheduling.simulation.traces import ReplayOptions, Trace

DEFAULTS = Defaults(num_nodes=64, round_s=60, restart_s=60)
LARGE = 8  # jobs of more devices are looked at apart
PREDICTED_QUANTILE = 0.5
TWO_LEVELS_S = 16 * 3600  # device-seconds, Tiresias's threshold
FIFTEEN_LEVELS_S = 300

DAMPED = Policy(order=Order.LEAST_ATTAINED, damps_size=True, runtimes=Runtimes.PREDICTIONS)

MAKE: Mapping[str, Callable[[Fleet], Scheduler]] = {
    "engine": lambda fleet: Engine(DAMPED, fleet=fleet, quantile=PREDICTED_QUANTILE),
    "engine_unpredicted": lambda fleet: Engine(DAMPED, fleet=fleet),
    "fifo": lambda fleet: InOrder(by_arrival, skips=False),  # noqa: ARG005
    "backfill": lambda fleet: InOrder(by_arrival, skips=True),  # noqa: ARG005
    "sjf_oracle": lambda fleet: InOrder(by_runtime, skips=True),  # noqa: ARG005
    "srtf_oracle": lambda fleet: ShortestRemaining(),  # noqa: ARG005
    "las_2": lambda fleet: LeastAttained(  # noqa: ARG005
        num_levels=2, quantum_ms=TWO_LEVELS_S * SECOND_MS
    ),
    "las_15": lambda fleet: LeastAttained(  # noqa: ARG005
        num_levels=15, quantum_ms=FIFTEEN_LEVELS_S * SECOND_MS
    ),
}
PUBLISHED: Mapping[str, float] = {"srtf_oracle": 15_686, "las_2": 40_338, "las_15": 19_206}


def read(traces: Path) -> list[RigidJob]:
    """The jobs in order of submission."""
    with (traces / "philly" / "jobs.csv").open() as file:
        return [
            RigidJob(
                number=number,
                submitted_ms=round(float(row["submit_s"]) * SECOND_MS),
                runtime_ms=round(float(row["duration_s"]) * SECOND_MS),
                num_devices=int(row["num_gpus"]),
                user=row["vc"],
            )
            for number, row in enumerate(csv.DictReader(file))
        ]


def rows(
    traces: Path, *, policies: Iterable[str] = ("engine", "las_15", "las_2", "srtf_oracle")
) -> list[Row]:
    """The quality table's rows: mean JCT of all jobs, and of the large ones."""
    found, jobs = list[Row](), read(traces)
    for policy in policies:
        replayed, _ = run(jobs, MAKE[policy], ReplayOptions(policy=policy), DEFAULTS)
        large = [each for each in replayed.runs if each.job.num_devices > LARGE]
        everyone = _row(policy, "avg JCT", replayed.runs, published=PUBLISHED.get(policy))
        apart = _row(policy, f"avg JCT, more than {LARGE} devices", large)
        is_ours = policy == "engine"
        found.append(everyone.held_to(at_most=20_500) if is_ours else everyone)
        found.append(apart.held_to(at_most=400_000) if is_ours else apart)
    return found


def _row(policy: str, metric: str, runs: Sequence[Run], *, published: float | None = None) -> Row:
    mean = spread(record_of(each).jct_s for each in runs).avg or 0.0
    return Row(work="philly", policy=policy, metric=metric, value=mean, unit="s", published=published)


def _run(traces: Path, options: ReplayOptions) -> Mapping[str, object]:
    jobs = read(traces)[: options.max_jobs]
    replayed, fleet = run(jobs, MAKE[options.policy], options, DEFAULTS)
    return result("philly", options, replayed, fleet, rules_of(options, DEFAULTS))


TRACE = Trace(name="philly", policies=tuple(MAKE), run=_run)
