"""`python -m benchmarks [NAME ...] [--json]`: measure, print side by side, write the results file."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from benchmarks import burst, engine, preempt, rest, start
from benchmarks.figures import Figure
from benchmarks.misses import notes
from benchmarks.report import write_report
from tests.support.platform import LivePlatform, running_platform

BENCHES: Mapping[str, Callable[[LivePlatform], list[Figure]]] = {
    "rest": rest.measure,  # first: nothing has run yet
    "start": start.measure,
    "burst": burst.measure,
    "preempt": preempt.measure,
}
ALONE: Mapping[str, Callable[[], list[Figure]]] = {"engine": engine.measure}  # need no platform
NAMES = (*ALONE, *BENCHES)


def main() -> None:
    """Run the named benches (all when none is named) on one platform of their own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NAMES)}; none: all")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON and write no file")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(NAMES):
        parser.error(f"there is no bench {', '.join(sorted(unknown))}; there are: {', '.join(NAMES)}")
    names = asked.names or list(NAMES)
    figures = [*_run_alone(names), *_run(names)]
    if asked.json:
        json.dump({"results": [figure.to_json() for figure in figures]}, sys.stdout, indent=1)
        return
    partial = names if asked.names else ()
    path = write_report(figures, now=datetime.now(UTC), names=partial, notes=list(notes(figures)))
    sys.stdout.write(path.read_text(encoding="utf-8"))


def _run_alone(names: list[str]) -> list[Figure]:
    return [figure for name in ALONE if name in names for figure in ALONE[name]()]


def _run(names: list[str]) -> list[Figure]:
    figures: list[Figure] = []
    if not any(name in BENCHES for name in names):
        return figures
    with running_platform() as platform:
        for name in BENCHES:
            if name in names:
                figures += BENCHES[name](platform)
    return figures


if __name__ == "__main__":
    main()
