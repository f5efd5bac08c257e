"""What a trace module offers to `python -m scheduling replay`: its name, its policies and how to run them.

Each of philly, kalos, openb and pollux exports `TRACE`, a `Trace`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


def no_clock() -> float:
    """The clock of a replay whose decisions are not timed."""
    return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """How to replay. None: what the trace's own published setting is.

    `clock` returns seconds; the simulated time never depends on it, it only measures decisions.
    """

    policy: str
    num_nodes: int | None = None
    devices_per_node: int | None = None
    workload: str | None = None  # one of the trace's workloads
    seed: int = 0
    round_seconds: float | None = None  # 0: event-driven
    restart_seconds: float | None = None
    max_jobs: int | None = None  # only the first ones
    arrival_scale: float | None = None  # arrival times are divided by it
    failures_per_device_day: float = 0.0
    clock: Callable[[], float] = no_clock


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace format. `run` reads it under the directory of all traces and returns a JSON-ready mapping:
    at least `trace`, `policy`, `cluster`, and `metrics` (`Summary.to_json()`).
    """

    name: str
    policies: tuple[str, ...]  # the first one is the default
    run: Callable[[Path, ReplayOptions], Mapping[str, object]]
    workloads: tuple[str, ...] = ()  # the first one is the default
