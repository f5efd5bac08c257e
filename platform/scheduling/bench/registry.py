"""What a bench case is: a workload that measures itself with the clocks it is given, its bar and its peer."""

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clocks:
    """Seconds of processor time of this process, and of wall time."""

    cpu_s: Callable[[], float]
    wall_s: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The value that is held to the bar, by processor time; the same by wall time, and what else to know."""

    value: float
    wall: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A named figure. It meets its bar when it is at most `bar`, or at least, where `at_least`."""

    name: str
    unit: str
    run: Callable[[Clocks], Measured]
    bar: float | None = None
    at_least: bool = False
    peer: str = ""

    def met_by(self, value: float) -> bool | None:
        """Whether the bar is met; None where there is none."""
        if self.bar is None:
            return None
        return value >= self.bar if self.at_least else value <= self.bar

    def measured(self, clocks: Clocks) -> Measured:
        """The figure, with nothing left over from the case before that would be collected meanwhile."""
        gc.collect()
        return self.run(clocks)

    def result(self, clocks: Clocks) -> Mapping[str, object]:
        """Measure, and give the figure as JSON-ready built-ins."""
        measured = self.measured(clocks)
        return {
            "name": self.name,
            "value": measured.value,
            "unit": self.unit,
            "bar": self.bar,
            "peer": self.peer,
            "met": self.met_by(measured.value),
            "wall": measured.wall,
            "detail": measured.detail,
        }


def percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that at least so many percent of the values do not exceed."""
    ranked = sorted(values)
    return ranked[max(-(-len(ranked) * percent // 100), 1) - 1]
