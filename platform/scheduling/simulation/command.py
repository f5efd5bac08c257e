"""`python -m scheduling replay --trace NAME[:WORKLOAD] --cluster NxM --policy NAME [--json]`: a trace again.

Each trace has its module here, which is imported only when it is asked for.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from timeit import default_timer

from scheduling.simulation.traces import ReplayOptions, Trace

TRACES = {
    "philly": "scheduling.simulation.philly",
    "kalos": "scheduling.simulation.kalos",
    "openb": "scheduling.simulation.openb",
    "pollux": "scheduling.simulation.pollux.replay",
}
DEFAULT_DIRECTORY = Path("../shared/traces")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which trace, on what, by which policy."""
    parser.add_argument(
        "--trace", required=True, metavar="NAME[:WORKLOAD]", help=f"one of {', '.join(TRACES)}"
    )
    parser.add_argument("--traces", type=Path, default=DEFAULT_DIRECTORY, help="the directory of all traces")
    parser.add_argument("--cluster", type=_cluster, metavar="NxM", help="N nodes with M devices each")
    parser.add_argument("--policy", help="one of the trace's policies; default: its first")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--round-seconds", type=float, help="length of a round; 0: event-driven")
    parser.add_argument("--restart-seconds", type=float, help="what a restart costs")
    parser.add_argument("--jobs", type=int, metavar="N", help="only the first N jobs")
    parser.add_argument("--arrival-scale", type=float, help="arrival times are divided by it")
    parser.add_argument("--failures-per-device-day", type=float, default=0.0)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def run(args: argparse.Namespace) -> int:
    """Replay, print, and return the exit status; a trace or policy that is not there is 2."""
    name, _, workload = args.trace.partition(":")
    problem = None if name in TRACES else f"there is no trace {name!r}; there are: {', '.join(TRACES)}"
    if problem is None:
        trace = _trace(name)
        problem = _problem(trace, args, workload)
    if problem is not None:
        sys.stderr.write(f"{problem}\n")
        return 2
    result = trace.run(args.traces, _options(trace, args, workload))
    sys.stdout.write(json.dumps(result, indent=1) + "\n" if args.json else _as_text(result))
    return 0


def _trace(name: str) -> Trace:
    trace = import_module(TRACES[name]).TRACE
    assert isinstance(trace, Trace)
    return trace


def _problem(trace: Trace, args: argparse.Namespace, workload: str) -> str | None:
    """What of the request is not there."""
    if args.policy is not None and args.policy not in trace.policies:
        return f"{trace.name} has no policy {args.policy!r}; there are: {', '.join(trace.policies)}"
    if workload and workload not in trace.workloads:
        known = ", ".join(trace.workloads) or "none"
        return f"{trace.name} has no workload {workload!r}; there are: {known}"
    if not (args.traces / trace.name).is_dir():
        return f"there is no directory {args.traces / trace.name}; --traces names the one of all traces"
    return None


def _options(trace: Trace, args: argparse.Namespace, workload: str) -> ReplayOptions:
    num_nodes, devices_per_node = args.cluster or (None, None)
    return ReplayOptions(
        policy=args.policy or trace.policies[0],
        num_nodes=num_nodes,
        devices_per_node=devices_per_node,
        workload=workload or None,
        seed=args.seed,
        round_seconds=args.round_seconds,
        restart_seconds=args.restart_seconds,
        max_jobs=args.jobs,
        arrival_scale=args.arrival_scale,
        failures_per_device_day=args.failures_per_device_day,
        clock=default_timer,
    )


def _cluster(text: str) -> tuple[int, int]:
    """ "16x4" as numbers."""
    nodes, _, devices = text.lower().partition("x")
    if not (nodes.isdigit() and devices.isdigit() and int(nodes) and int(devices)):
        raise argparse.ArgumentTypeError(f"{text!r} is not nodes x devices, as in 16x4")
    return int(nodes), int(devices)


def _as_text(result: Mapping[str, object], *, indent: str = "") -> str:
    """One line for each figure, those of a group indented under its name."""
    lines = []
    for name, value in result.items():
        if isinstance(value, Mapping):
            lines.append(f"{indent}{name}:\n{_as_text(value, indent=indent + '  ')}")
        else:
            lines.append(
                f"{indent}{name}: {value:,.6g}\n"
                if isinstance(value, float)
                else f"{indent}{name}: {value}\n"
            )
    return "".join(lines)
