"""`python -m benchmarks.quality [--traces DIR] [--only NAME]`: the quality table, printed and kept.

Every policy of a work runs on the same trace, cluster, clock, throughput model, restart cost and knowledge.
"""

import argparse
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.misses import notes
from benchmarks.report import write_report
from scheduling.simulation.report import SOURCES, Row, measured, table


def main() -> int:
    """Measure, print each row when it is known, write the results file; 1 if a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--traces", type=Path, default=Path("../shared/traces"))
    parser.add_argument("--only", choices=SOURCES, action="append")
    asked = parser.parse_args()
    if not asked.traces.is_dir():
        parser.error(f"there is no folder {asked.traces}; benchmarks/README.md says where the traces are")
    rows = list(_shown(measured(asked.traces, asked.only or SOURCES)))
    sys.stdout.write(table(rows) + "\n")
    names = ("sim", *(asked.only or ()))
    figures = [_figure(row) for row in rows]
    write_report(figures, now=datetime.now(UTC), names=names, notes=list(notes(figures)))
    return int(any(row.met is False for row in rows))


def _shown(rows: Iterator[Row]) -> Iterator[Row]:
    for row in rows:
        sys.stdout.write(f"{row.work}, {row.policy}: {row.metric} {row.value:,.4g} {row.unit}\n")
        sys.stdout.flush()
        yield row


def _figure(row: Row) -> Figure:
    return Figure(
        bench=row.work,
        name=f"{row.policy}: {row.metric}",
        value=row.value,
        unit=row.unit,
        bar=row.bar,
        at_least=row.at_least,
        peer="" if row.published is None else f"published {row.published:,.6g}",
    )


if __name__ == "__main__":
    sys.exit(main())
