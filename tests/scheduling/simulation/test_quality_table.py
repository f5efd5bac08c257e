"""The quality table's figures: their direction, why a bar is missed, and how predictions turned out."""

from pathlib import Path

import pytest

from benchmarks.figures import Figure
from benchmarks.misses import UNWRITTEN, notes
from scheduling.simulation.foresight import rows
from scheduling.simulation.kalos import BARS, MAKE, WITHOUT_LIMITS
from scheduling.simulation.report import Row

TRACES = Path(__file__).parents[4] / "shared" / "traces"


def test_a_row_carries_the_direction_of_its_bar() -> None:
    """Also where the value is the bar, which either direction meets."""
    row = Row(work="w", policy="p", metric="m", value=1.0, unit="")
    assert row.held_to(at_least=1.0).at_least
    assert not row.held_to(at_most=1.0).at_least


def test_each_missed_figure_has_a_line_that_says_why() -> None:
    """One that nobody has explained says so; one that meets its bar has none, nor has a table without any."""
    figures = [Figure(bench="b", name=name, value=2, unit="", bar=bar) for name, bar in (("x", 1), ("y", 1))]
    figures.append(Figure(bench="b", name="z", value=2, unit="", bar=2))
    lines = list(notes(figures, {"x": "it is large", "z": "never said"}))
    assert lines[2:] == ["- **b, x**: it is large.", f"- **b, y**: {UNWRITTEN}."]
    assert list(notes(figures[2:])) == []


def test_whoever_stands_beside_baselines_without_limits_has_none_either() -> None:
    """Attained service needs no limits, so neither does the engine beside it."""
    assert set(WITHOUT_LIMITS) <= MAKE.keys()
    assert set(WITHOUT_LIMITS) == BARS.keys() - {"engine"}


def test_the_shares_below_each_quantile_are_told() -> None:
    """Of the first jobs of Philly: near the quantile, and the error beside it."""
    found = rows(TRACES, quantiles=(0.25, 0.5), max_jobs=20_000)
    shares = [row.value for row in found if not row.unit]
    assert shares == pytest.approx([0.25, 0.5], abs=0.06)
    assert [row.unit for row in found] == ["", "octaves"] * 2
