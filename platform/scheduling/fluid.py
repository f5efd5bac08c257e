"""How long a line of waiting jobs takes when what they wait for is one fluid: no gangs, no places.

A job starts when all ahead of it and itself are there at once, or when the work of all ahead could be done,
whichever is sooner. The first is exact for a short line, the second for a long one on a busy cluster.
"""

from dataclasses import dataclass

import numpy as np

from scheduling.ends import NEVER
from scheduling.supply import FloatArray, IntArray

PRECISION_BITS = 6  # a wait is rounded up to a 64th of itself: more would be pretence


@dataclass(frozen=True, slots=True)
class Supplied:
    """What is free from each moment on, until the next; the first moment is now."""

    since_ms: IntArray
    free: IntArray

    @classmethod
    def of(cls, now_ms: int, free_now: int, ends: IntArray, given_back: IntArray) -> "Supplied":
        """From what is free now and the sums given back by each end, in order of ends."""
        known = ends < NEVER
        since = np.append(now_ms, np.maximum(ends[known], now_ms))
        return cls(since, np.append(free_now, free_now + given_back[known]))


def expected_starts(supplied: Supplied, demand: FloatArray, work: FloatArray, own: FloatArray) -> IntArray:
    """The moment at which each job of a line is expected to start; NEVER where nothing bounds it.

    `demand` and `work` (amount x ms; infinite where an end is unknown) are those of each job as far as they
    meet on this supply; `own` is what the job itself has to find free.
    """
    beside = _first_with(supplied, _sums_before(demand) + own)
    after = np.maximum(_when_done(supplied, _sums_before(work)), _first_with(supplied, own))
    return np.minimum(beside, after)


def _sums_before(amounts: FloatArray) -> FloatArray:
    return np.append(0.0, np.cumsum(amounts[:-1]))


def _first_with(supplied: Supplied, amounts: FloatArray) -> IntArray:
    """When so much is free."""
    most_yet = np.maximum.accumulate(supplied.free)
    moments = np.append(supplied.since_ms, NEVER)
    return moments[np.searchsorted(most_yet, amounts, side="left")]


def _when_done(supplied: Supplied, work: FloatArray) -> IntArray:
    """When so much work is done if all that is free works."""
    free = np.maximum(supplied.free, 0).astype(np.float64)
    done = np.append(0.0, np.cumsum(free[:-1] * np.diff(supplied.since_ms)))
    step = np.searchsorted(done, work, side="right") - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        wait = supplied.since_ms[step] - supplied.since_ms[0] + (work - done[step]) / free[step]
    wait = np.nan_to_num(wait, nan=0.0, posinf=float(NEVER))
    found = supplied.since_ms[0] + _rounded_up(np.minimum(wait, float(NEVER)))
    return np.where(np.isfinite(work) & (wait < NEVER), found, NEVER)


def _rounded_up(waits: FloatArray) -> IntArray:
    unit = np.exp2(np.maximum(np.frexp(waits)[1] - 1 - PRECISION_BITS, 0))
    return np.asarray(np.ceil(waits / unit) * unit, dtype=np.int64)
