"""How fast an elastic gang is expected to be at each size, and what one more device is worth to it.

Speeds are in thousandths of one worker's. Between measured sizes they are interpolated; beyond the last one
(or with none measured) each doubling is taken to give 1.8 times the speed, so speed ~ size ^ 0.85: most
training scales a little worse than that at large sizes and a little better at small ones, and a measurement
replaces the guess as soon as there is one. The utility of a size is the square root of its speed: a second
device for somebody is then worth more than the ninth for somebody else, which no linear measure says.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from scheduling.model import Job
from scheduling.sizes import step_of
from scheduling.supply import FloatArray, IntArray

SCALING = 0.85
ONE_WORKER = 1000
EXPECTED_AT_LEAST_MS = 600_000
SERVICE_WEIGHT = -0.3
REMAINING_WEIGHT = -0.6

Speeds = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Rise:
    """A larger size, its speed and that of the present one, and what each further worker adds to utility."""

    size: int
    slower: float
    faster: float
    gain: float


def rises(job: Job, size: int, most: int) -> tuple[Rise, ...]:
    """Ways to become larger, up to an allowed size, on the upper concave hull of utility: what lies below it
    is not worth stopping at. The next size, then ones ever further away.
    """
    return _rises(job.speeds, job.least_workers, most, step_of(job), size)


def speed_of(job: Job, size: int) -> float:
    """The speed that the job is expected to have with so many workers."""
    return _speed(job.speeds, size)


def utility(speed: float) -> float:
    """What a speed is worth."""
    return math.sqrt(speed)


def weight_of(job: Job, *, now_ms: int) -> float:
    """By how much a job's gain counts: more with little left to do, or, if nobody knows, with little done."""
    if job.remaining_ms is not None:
        return float(max(job.remaining_ms, 1000) ** REMAINING_WEIGHT)
    held_ms = 0 if job.placed_at_ms is None else max(now_ms - job.placed_at_ms, 0)
    done = job.attained_milli_ms + held_ms * len(job.placement) * job.accelerators_milli
    return float(max(done, ONE_WORKER * EXPECTED_AT_LEAST_MS) ** SERVICE_WEIGHT)


def expected_ms(job: Job, speed: float, *, now_ms: int) -> float:
    """For how long the job is expected to run on at this speed: from the work left; else until its predicted
    end; else for as long as it has run, and at least ten minutes.
    """
    if job.remaining_ms is not None:
        return job.remaining_ms * ONE_WORKER / max(speed, 1.0)
    ran_ms = 0 if job.placed_at_ms is None else max(now_ms - job.placed_at_ms, 0)
    if job.predicted_ms is not None and job.predicted_ms > ran_ms:
        return float(job.predicted_ms - ran_ms)
    return float(max(ran_ms, EXPECTED_AT_LEAST_MS))


@lru_cache(maxsize=1 << 16)
def _rises(speeds: Speeds, least: int, most: int, step: int, size: int) -> tuple[Rise, ...]:
    larger = [each for each in _hull(speeds, least, most, step) if each > size]
    slower = _speed(speeds, size)
    found = []
    for at in (0, 1, 3, 7, 15, 31, 63, 127, 255, 511):
        faster = _speed(speeds, larger[at]) if at < len(larger) else 0.0
        if faster > slower:
            gain = (utility(faster) - utility(slower)) / (larger[at] - size)
            found.append(Rise(larger[at], slower, faster, gain))
    return tuple(found)


@lru_cache(maxsize=1 << 14)
def _hull(speeds: Speeds, least: int, most: int, step: int) -> tuple[int, ...]:
    sizes = np.array([least, *range(least - least % step + step, most + 1, step)], dtype=np.int64)
    values = np.array([utility(_speed(speeds, int(size))) for size in sizes])
    return tuple(sizes[_upper_hull(sizes, values)].tolist())


@lru_cache(maxsize=1 << 16)
def _speed(speeds: Speeds, size: int) -> float:
    known = dict(speeds)
    if size in known:
        return float(known[size])
    if not known:
        return float(ONE_WORKER * size**SCALING)
    xs = np.array(sorted(known), dtype=np.float64)
    ys = np.array([known[int(x)] for x in xs], dtype=np.float64)
    if size > xs[-1]:
        return float(ys[-1] * (size / xs[-1]) ** SCALING)
    if size < xs[0]:
        return float(ys[0] * (size / xs[0]) ** SCALING)
    return float(np.interp(size, xs, ys))


def _upper_hull(sizes: IntArray, values: FloatArray) -> IntArray:
    """Positions of the points on the upper concave hull, from the first to the highest."""
    kept: list[int] = []
    for at in range(len(sizes)):
        while len(kept) > 1 and _is_below(sizes, values, kept[-2], kept[-1], at):
            kept.pop()
        kept.append(at)
    while len(kept) > 1 and values[kept[-1]] <= values[kept[-2]]:
        kept.pop()
    return np.array(kept, dtype=np.int64)


def _is_below(sizes: IntArray, values: FloatArray, first: int, middle: int, last: int) -> bool:
    """Whether the middle point lies on or below the line between the others."""
    rise = (values[middle] - values[first]) * (sizes[last] - sizes[first])
    return bool(rise <= (values[last] - values[first]) * (sizes[middle] - sizes[first]))
