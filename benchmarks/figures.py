"""One measured figure, the bar it is held to, and how the peer did in the same run."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """`value` in `unit`; met when it is at most `bar` (at least, where `at_least`)."""

    bench: str
    name: str
    value: float
    unit: str
    bar: float | None = None
    at_least: bool = False
    peer: str = ""
    runs: tuple[float, ...] = ()

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None where there is none."""
        if self.bar is None:
            return None
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def to_json(self) -> dict[str, Any]:
        """The figure as JSON-ready built-ins."""
        return asdict(self) | {"met": self.met}


def over_runs(runs: Sequence[float], **described: Any) -> Figure:
    """A figure whose value is the median of `runs`; every run is kept beside it."""
    return Figure(value=median(runs), runs=tuple(runs), **described)
