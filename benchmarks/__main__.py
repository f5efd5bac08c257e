"""`python -m benchmarks [NAME ...] [--json]`: measure, print side by side, write the results file."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from benchmarks import burst, preempt, rest, start
from benchmarks.figures import Figure
from benchmarks.report import write_report
from tests.support.platform import LivePlatform, running_platform

BENCHES: Mapping[str, Callable[[LivePlatform], list[Figure]]] = {
    "rest": rest.measure,  # first: nothing has run yet
    "start": start.measure,
    "burst": burst.measure,
    "preempt": preempt.measure,
}


def main() -> None:
    """Run the named benches (all when none is named) on one platform of their own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(BENCHES)}; none: all")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON and write no file")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(BENCHES):
        parser.error(f"there is no bench {', '.join(sorted(unknown))}; there are: {', '.join(BENCHES)}")
    figures = _run(asked.names or list(BENCHES))
    if asked.json:
        json.dump({"results": [figure.to_json() for figure in figures]}, sys.stdout, indent=1)
        return
    path = write_report(figures, now=datetime.now(UTC), notes=())
    sys.stdout.write(path.read_text(encoding="utf-8"))


def _run(names: list[str]) -> list[Figure]:
    figures: list[Figure] = []
    with running_platform() as platform:
        for name in BENCHES:
            if name in names:
                figures += BENCHES[name](platform)
    return figures


if __name__ == "__main__":
    main()
