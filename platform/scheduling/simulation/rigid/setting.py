"""One replay from its options: which cluster, clock and policy, and what is reported of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from scheduling.simulation.metrics import JobRecord, spread, summarise
from scheduling.simulation.rigid.fleet import Fleet
from scheduling.simulation.rigid.outages import outages
from scheduling.simulation.rigid.replay import Replayed, Rules, Scheduler, replay
from scheduling.simulation.rigid.runs import RigidJob, Run
from scheduling.simulation.traces import ReplayOptions

SECOND_MS = 1000
SLACK = 3  # outages are drawn for this many times the span of the submissions, and a month
MONTH_MS = 30 * 86_400_000

Make = Callable[[Fleet], Scheduler]


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """The trace's own published setting."""

    num_nodes: int
    per_node: int = 8
    round_s: float = 0
    restart_s: float


def run(
    jobs: Sequence[RigidJob], make: Make, options: ReplayOptions, defaults: Defaults
) -> tuple[Replayed, Fleet]:
    """Replays the jobs by these options."""
    fleet = Fleet(
        num_nodes=options.num_nodes or defaults.num_nodes,
        per_node=options.devices_per_node or defaults.per_node,
    )
    failing = outages(
        num_nodes=fleet.num_nodes,
        per_node=fleet.per_node,
        per_device_day=options.failures_per_device_day,
        until_ms=SLACK * max((job.submitted_ms for job in jobs), default=0) + MONTH_MS,
        seed=options.seed,
    )
    rules = rules_of(options, defaults)
    return replay(jobs, make(fleet), fleet=fleet, rules=rules, outages=failing, clock=options.clock), fleet


def rules_of(options: ReplayOptions, defaults: Defaults) -> Rules:
    """The clock and the restart cost."""
    round_s = defaults.round_s if options.round_seconds is None else options.round_seconds
    restart_s = defaults.restart_s if options.restart_seconds is None else options.restart_seconds
    return Rules(round_ms=round(round_s * SECOND_MS), restart_ms=round(restart_s * SECOND_MS))


def result(
    name: str, options: ReplayOptions, replayed: Replayed, fleet: Fleet, rules: Rules
) -> Mapping[str, object]:
    """What `replay --json` prints. `total_wait_s` is all the time that a job was there without devices."""
    records = [record_of(run) for run in replayed.runs]
    return {
        "trace": name,
        "policy": options.policy,
        "cluster": f"{fleet.num_nodes}x{fleet.per_node}",
        "round_seconds": rules.round_ms / SECOND_MS,
        "restart_seconds": rules.restart_ms / SECOND_MS,
        "seed": options.seed,
        "num_decisions": len(replayed.decision_s),
        "total_wait_s": asdict(spread(wait_s(run) for run in replayed.runs)),
        "metrics": summarise(
            records, num_devices=fleet.num_devices, decision_s=replayed.decision_s
        ).to_json(),
    }


def record_of(run: Run) -> JobRecord:
    """A finished run as the measures see it."""
    job = run.job
    return JobRecord(
        id=str(job.number),
        submitted_s=job.submitted_ms / SECOND_MS,
        started_s=None if run.first_started_ms is None else run.first_started_ms / SECOND_MS,
        ended_s=None if run.ended_ms is None else run.ended_ms / SECOND_MS,
        num_devices=job.num_devices,
        ideal_s=job.runtime_ms / SECOND_MS,
        num_restarts=max(run.num_starts - 1, 0),
        preempted_device_s=run.lost_device_ms / SECOND_MS,
        service_device_s=run.held_ms * job.num_devices / SECOND_MS,
    )


def wait_s(run: Run) -> float | None:
    """From submission to the end, less the time with devices."""
    return None if run.ended_ms is None else (run.ended_ms - run.job.submitted_ms - run.held_ms) / SECOND_MS
