"""openb: how much of a cluster with parts of devices is allocated when more is asked for than it has.

Policies: those published, under the published rules; our rule, which knows the whole trace's mix as they do
(`ours`, and `ours_patient` where awkward parts may wait); and the engine as it runs live, which knows what
has come so far (`engine`, `engine_patient`). The clock counts arrivals.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scheduling.fragmentation import Mix, leaves_awkward_rest
from scheduling.simulation.metrics import JobRecord, summarise
from scheduling.simulation.openb_engine import ByEngine
from scheduling.simulation.openb_filling import Filling, Outcome, Patience
from scheduling.simulation.openb_rules import Rule, rule_of
from scheduling.simulation.openb_trace import (
    FIRST_SEED,
    NUM_SEEDS,
    Trace,
    arrivals,
    kind_of,
    node_order,
    published_mix,
    read,
    room_of,
)
from scheduling.simulation.report import Row
from scheduling.simulation.traces import ReplayOptions
from scheduling.simulation.traces import Trace as Format

WORKLOADS = ("published", "all_nodes")  # 1,213 nodes with accelerators, or all 1,523
POLICIES = ("engine", "engine_patient", "ours", "ours_patient", "fgd", "best_fit", "random")
PUBLISHED = {"random": 87.47, "best_fit": 93.08, "fgd": 95.39}  # percent; mean of ten seeds
BARS = {"ours": 95.8, "engine": 95.8, "ours_patient": 96.5, "engine_patient": 96.5}
AWKWARD_SHARE = 0.05  # a rest that less than this share of the mix can use is awkward
SCARCE_SHARE = 0.5  # parts wait only while less than this share of the devices is idle
MOST_ARRIVALS = 4_000  # and for so many arrivals at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One run: by which policy, in which order, of how many arrivals."""

    policy: str
    seed: int = FIRST_SEED
    max_jobs: int | None = None


def fill(trace: Trace, setting: Setting, *, options: ReplayOptions | None = None) -> Outcome:
    """Runs the experiment once."""
    nodes = node_order(trace, seed=setting.seed)
    room = room_of(nodes)
    is_engine = setting.policy.startswith("engine")
    mix = published_mix(trace) if setting.policy == "fgd" else whole_mix(trace)
    rule: Rule = ByEngine(nodes) if is_engine else rule_of(setting.policy, room, mix=mix, seed=setting.seed)
    patience = patience_for(trace, mix) if setting.policy.endswith("_patient") else None
    order = arrivals(trace, seed=setting.seed)[: setting.max_jobs].tolist()
    clock = {} if options is None else {"clock": options.clock}
    return Filling(room, rule, patience=patience, **clock).run(trace.shapes[at] for at in order)


def whole_mix(trace: Trace) -> Mix:
    """All shapes of the trace, memory included."""
    counts = Counter(trace.tasks.tolist())
    shapes = sorted(counts)
    return Mix.of([kind_of(trace.shapes[at]) for at in shapes], [counts[at] for at in shapes])


def patience_for(trace: Trace, mix: Mix) -> Patience:
    """Who may wait: parts that leave an awkward rest."""
    awkward = (shape for shape in trace.shapes if leaves_awkward_rest(shape, mix, share=AWKWARD_SHARE))
    return Patience(shapes=frozenset(awkward), idle_share=SCARCE_SHARE, num_arrivals=MOST_ARRIVALS)


def rows(
    traces: Path,
    *,
    policies: Sequence[str] = ("random", "best_fit", "fgd", "ours", "ours_patient"),
    seeds: Iterable[int] = range(FIRST_SEED, FIRST_SEED + NUM_SEEDS),
) -> list[Row]:
    """The quality table's rows: the seeds' mean for each policy, and the longest wait where one waits."""
    trace, found = read(traces / "openb"), list[Row]()
    for policy in policies:
        outcomes = [fill(trace, Setting(policy=policy, seed=seed)) for seed in seeds]
        found.append(_allocated(policy, outcomes))
        if policy.endswith("_patient"):
            found.append(_longest_wait(policy, outcomes))
    return found


def _allocated(policy: str, outcomes: Sequence[Outcome]) -> Row:
    row = Row(
        work="openb",
        policy=policy,
        metric="devices allocated",
        value=float(np.mean([outcome.allocated_percent for outcome in outcomes])),
        unit="%",
        published=PUBLISHED.get(policy),
    )
    return row.held_to(at_least=BARS[policy]) if policy in BARS else row


def _longest_wait(policy: str, outcomes: Sequence[Outcome]) -> Row:
    return Row(
        work="openb",
        policy=policy,
        metric="longest wait",
        value=max(outcome.longest_wait for outcome in outcomes),
        unit="arrivals",
    )


def _run(traces: Path, options: ReplayOptions) -> Mapping[str, object]:
    workload = options.workload or WORKLOADS[0]
    trace = read(traces / "openb", with_cpu_nodes=workload == "all_nodes")
    setting = Setting(policy=options.policy, seed=options.seed, max_jobs=options.max_jobs)
    outcome = fill(trace, setting, options=options)
    order = arrivals(trace, seed=setting.seed)[: setting.max_jobs].tolist()
    capacity = outcome.capacity_milli / 1000
    return {
        "trace": "openb",
        "workload": workload,
        "policy": options.policy,
        "seed": options.seed,
        "cluster": f"{len(trace.nodes)} nodes, {capacity:.0f} devices",
        "num_arrivals": len(order),
        "num_placed": sum(at is not None for at in outcome.placed_at),
        "allocated_percent": outcome.allocated_percent,
        "allocated_percent_at_arrived": {
            str(percent): outcome.allocated_percent_at(percent)
            for percent in (100, 110, 120, 129)
            if outcome.arrived_milli[-1] * 100 >= percent * outcome.capacity_milli
        },
        "num_waited": len(outcome.waited),
        "num_waited_in_vain": outcome.num_given_up,
        "longest_wait_arrivals": outcome.longest_wait,
        "metrics": summarise(
            _records(trace, order, outcome), num_devices=capacity, decision_s=outcome.decision_s
        ).to_json(),
    }


def _records(trace: Trace, order: Sequence[int], outcome: Outcome) -> list[JobRecord]:
    """Nobody ends: only waits are told."""
    demand = trace.demand_milli()
    return [
        JobRecord(
            id=str(number),
            submitted_s=number,
            started_s=outcome.placed_at[number],
            ended_s=None,
            num_devices=int(demand[shape]) / 1000,
            ideal_s=0.0,
        )
        for number, shape in enumerate(order)
    ]


TRACE = Format(name="openb", policies=POLICIES, run=_run, workloads=WORKLOADS)
