"""`python -m scheduling bench [NAME ...] [--json]`: measures the engine, each figure beside its bar and peer.

A name selects every case whose name contains it. Values are by processor time. Exit 0 if all bars are met.
"""

import argparse
import json
import resource
import sys
from collections.abc import Mapping, Sequence
from timeit import default_timer

from scheduling.bench import evictions, memory, passes, starts
from scheduling.bench.registry import Case, Clocks

CASES: tuple[Case, ...] = (*starts.CASES, *passes.CASES, *evictions.CASES, *memory.CASES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which cases, and how to print."""
    parser.add_argument("names", nargs="*", help="parts of names of cases; none: all")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def run(args: argparse.Namespace) -> int:
    """Measure the cases asked for and return the exit status."""
    cases = [case for case in CASES if not args.names or any(name in case.name for name in args.names)]
    unknown = [name for name in args.names if not any(name in case.name for case in CASES)]
    if unknown:
        known = "; ".join(case.name for case in CASES)
        sys.stderr.write(f"no case is named {', '.join(unknown)}; there are: {known}\n")
        return 2
    clocks = Clocks(cpu_s=_cpu_seconds, wall_s=default_timer)
    results = [case.result(clocks) for case in cases]
    sys.stdout.write(json.dumps({"results": results}, indent=1) + "\n" if args.json else _as_text(results))
    return 1 if any(result["met"] is False for result in results) else 0


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _as_text(results: Sequence[Mapping[str, object]]) -> str:
    """One line for each figure: value, bar, peer."""
    return "".join(
        f"{_met(result['met']):>4}  {result['name']}: {_number(result['value'])} {result['unit']}"
        f" (wall {_number(result['wall'])}; bar {_number(result['bar'])}; peer: {result['peer'] or '-'})\n"
        for result in results
    )


def _met(met: object) -> str:
    return {True: "met", False: "MISS"}.get(bool(met), "") if met is not None else ""


def _number(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, int | float) else "-"
