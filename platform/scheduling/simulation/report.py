"""Rows of the quality table: what each policy reached on each work, beside its bar and the published figure.

`python -m scheduling.simulation.report [--traces DIR] [--only NAME]`. How each figure is measured lives
beside its trace: the module of each source has `rows(directory of all traces)`.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

SOURCES = {
    "failures": "failures",
    "openb": "openb",
    "kalos": "kalos",
    "pollux": "pollux.replay",
    "prediction": "foresight",
    "philly": "philly",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure. `bar` is what it may not exceed, or has to reach where `at_least`; `published` what others
    did; `met` is None without a bar.
    """

    work: str
    policy: str
    metric: str
    value: float
    unit: str
    bar: float | None = None
    at_least: bool = False
    published: float | None = None
    met: bool | None = None

    def held_to(self, *, at_most: float | None = None, at_least: float | None = None) -> "Row":
        """The same figure with its bar, and whether it meets it."""
        if at_least is not None:
            return replace(self, bar=at_least, at_least=True, met=self.value >= at_least)
        return replace(self, bar=at_most, at_least=False, met=at_most is None or self.value <= at_most)


_HEADER = ("work", "policy", "metric", "value", "unit", "bar", "published", "met")


def table(rows: Iterable[Row]) -> str:
    """The rows as an aligned text table, in the order given."""
    cells = [_HEADER, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADER))]
    return "\n".join(_line(line, widths) for line in cells)


def measured(directory: Path, sources: Iterable[str] = SOURCES) -> Iterator[Row]:
    """The rows of these sources, one after the other, as they are measured."""
    for source in sources:
        yield from import_module(f"scheduling.simulation.{SOURCES[source]}").rows(directory)


def main() -> int:
    """Measures everything, prints the table, and fails if a bar was missed."""
    parser = argparse.ArgumentParser(description="What each policy reaches on each work.")
    parser.add_argument("--traces", type=Path, default=Path("../shared/traces"))
    parser.add_argument("--only", choices=SOURCES, action="append")
    args = parser.parse_args()
    rows = list(measured(args.traces, args.only or SOURCES))
    sys.stdout.write(table(rows) + "\n")
    return int(any(row.met is False for row in rows))


def _cells(row: Row) -> tuple[str, ...]:
    met = "" if row.met is None else ("yes" if row.met else "NO")
    numbers = _number(row.value), row.unit, _number(row.bar), _number(row.published)
    return (row.work, row.policy, row.metric, *numbers, met)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.2f}"


def _line(line: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


if __name__ == "__main__":
    sys.exit(main())
