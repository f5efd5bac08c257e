"""Levels of attained service, each beginning at double the service of the one before."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, sqrt

from scheduling.simulation.rigid.runs import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """Level 0 ends at `quantum_ms` (devices x time held). `num_levels` None: without end. `damps_size`: a
    gang's time counts by the square root of its devices.
    """

    quantum_ms: int
    num_levels: int | None = None
    damps_size: bool = False

    def of(self, run: Run, now_ms: int) -> int:
        """The level of a job now."""
        quanta = int(run.attained_ms(now_ms) * self._weight(run)) // self.quantum_ms
        level = quanta.bit_length()
        return level if self.num_levels is None else min(level, self.num_levels - 1)

    def next_fall_ms(self, running: Iterable[Run], levels: Iterable[int], now_ms: int) -> int | None:
        """When the next running job falls below one of these levels."""
        ordered = sorted(levels)
        times = [
            self._falls_ms(run, level, now_ms)
            for run in running
            if (level := self._above(run, ordered, now_ms)) >= 0
        ]
        return min(times, default=None)

    def _above(self, run: Run, ordered: list[int], now_ms: int) -> int:
        """The first of these levels that the job is not below yet and can fall below; -1: there is none."""
        own = self.of(run, now_ms)
        last = None if self.num_levels is None else self.num_levels - 1
        return next((level for level in ordered if level >= own and level != last), -1)

    def _falls_ms(self, run: Run, level: int, now_ms: int) -> int:
        """When its service reaches the end of the level."""
        ends_ms = ceil((self.quantum_ms << level) / self._weight(run))
        return now_ms + max(ends_ms - run.attained_ms(now_ms), 1)

    def _weight(self, run: Run) -> float:
        return sqrt(run.job.num_devices) if self.damps_size else run.job.num_devices
