"""Rows of the quality table: what each policy reached on each work, beside its bar and the published figure.

Every replay hands its own rows to `table`; how they are measured lives beside each trace.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure. `bar` is what it has to reach, `published` what others did; `met` is None without a bar."""

    work: str
    policy: str
    metric: str
    value: float
    unit: str
    bar: float | None = None
    published: float | None = None
    met: bool | None = None

    def held_to(self, *, at_most: float | None = None, at_least: float | None = None) -> "Row":
        """The same figure with its bar, and whether it meets it."""
        met = (at_most is None or self.value <= at_most) and (at_least is None or self.value >= at_least)
        return replace(self, bar=at_least if at_most is None else at_most, met=met)


_HEADER = ("work", "policy", "metric", "value", "unit", "bar", "published", "met")


def table(rows: Iterable[Row]) -> str:
    """The rows as an aligned text table, in the order given."""
    cells = [_HEADER, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADER))]
    return "\n".join(_line(line, widths) for line in cells)


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
