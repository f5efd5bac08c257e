"""How long a job will run, told from the jobs that ended before it: quantiles with no oracle. Pure.

Groups are nested: the user's jobs of the same likeness and size, the user's of that size, the queue's, all.
Each keeps a histogram of run times in steps of an eighth of an octave, in which a sample weighs half as much
once `half_life` others came after it. A group is smoothed towards the next wider one, as if that added `pull`
samples (the Dirichlet prior, Gelman et al., Bayesian Data Analysis, 3.4): quantiles of few samples stay sane,
and one odd run time moves nothing.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp2, log2

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

STEPS_PER_OCTAVE = 8
SHORTEST_MS = 1000
NUM_STEPS = 30 * STEPS_PER_OCTAVE  # up to 2**30 seconds
LARGEST_WEIGHT = exp2(64)  # then all weights are divided, so that they stay far from overflow


class Grounds(StrEnum):
    """What a prediction rests on: the narrowest group with enough samples, else the limit, else nothing."""

    LIKENESS = "likeness"  # the user's jobs of the same likeness and size
    USER = "user"  # the user's jobs of that size
    QUEUE = "queue"
    ALL = "all"
    LIMIT = "limit"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What is known of a job before it runs. `likeness` is equal for jobs that run the same thing."""

    user: str
    queue: str
    num_devices: int
    likeness: str = ""

    def groups(self) -> tuple[tuple[Grounds, tuple[str | int, ...]], ...]:
        """The groups that it belongs to, from the widest to the narrowest."""
        size = size_class(self.num_devices)
        return (
            (Grounds.ALL, ()),
            (Grounds.QUEUE, (self.queue,)),
            (Grounds.USER, (self.user, size)),
            (Grounds.LIKENESS, (self.user, size, self.likeness)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A job that ended by itself, and how long it ran."""

    features: Features
    runtime_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A whole run time, from its start (None: nothing is known); the group and its samples behind it."""

    ms: int | None
    basis: Grounds
    num_samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How predictions at one quantile turned out: the share of run times at or below it ought to be the
    quantile. `mean_abs_log2_error` is in octaves; `coverage` is the share of jobs that history could predict.
    """

    quantile: float
    share_below: float
    mean_abs_log2_error: float
    coverage: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A prediction made before, and the run time that came."""

    quantile: float
    prediction: Prediction
    runtime_ms: int


class History:
    """The run times seen so far. `add` costs a few numbers, `predict` a handful of sums over a histogram."""

    def __init__(self, *, min_samples: int = 5, half_life: int = 1000, pull: float = 10.0) -> None:
        self._min_samples = min_samples
        self._half_life = half_life
        self._pull = pull
        self._groups: dict[tuple[Grounds, tuple[str | int, ...]], _Group] = {}

    def add(self, record: RunRecord) -> None:
        """Learn one run time."""
        for group in record.features.groups():
            self._groups.setdefault(group, _Group()).add(step_of(record.runtime_ms), self._half_life)

    def predict(
        self, features: Features, quantile: float, *, limit_ms: int | None = None, ran_ms: int = 0
    ) -> Prediction:
        """The run time that this share of such jobs does not exceed, of those that ran longer than `ran_ms`;
        never more than the limit. A job that outran all of its kind is given as long again as it has run.
        """
        shares, basis, num_samples = self._shares(features)
        if basis is Grounds.NONE:
            basis = basis if limit_ms is None else Grounds.LIMIT
            return Prediction(ms=limit_ms, basis=basis, num_samples=0)
        ms = max(_quantile(shares, quantile, ran_ms), ran_ms)
        return Prediction(
            ms=ms if limit_ms is None else min(ms, limit_ms), basis=basis, num_samples=num_samples
        )

    def _shares(self, features: Features) -> tuple[FloatArray, Grounds, int]:
        """The histogram of such jobs, the narrowest group in it and its number of samples."""
        shares, basis, num_samples = np.zeros(NUM_STEPS), Grounds.NONE, 0
        for name in features.groups():
            group = self._groups.get(name)
            if group is None or group.num_samples < self._min_samples:
                break  # a narrower one has no more
            pull = self._pull if basis is not Grounds.NONE else 0.0
            shares = (group.weights / group.newest + pull * shares) / (group.total / group.newest + pull)
            basis, num_samples = name[0], group.num_samples
        return shares, basis, num_samples


class _Group:
    """A histogram. Instead of shrinking all old weights, each sample weighs a little more than the last."""

    __slots__ = ("newest", "num_samples", "total", "weights")

    def __init__(self) -> None:
        self.weights: FloatArray = np.zeros(NUM_STEPS)
        self.total = 0.0
        self.newest = 1.0
        self.num_samples = 0

    def add(self, step: int, half_life: int) -> None:
        """One more sample."""
        self.newest *= exp2(1 / half_life)
        self.weights[step] += self.newest
        self.total += self.newest
        self.num_samples += 1
        if self.newest > LARGEST_WEIGHT:
            self.weights /= self.newest
            self.total /= self.newest
            self.newest = 1.0


def size_class(num_devices: int) -> int:
    """Jobs of like size: the number of devices, rounded up to a power of two."""
    return 1 << max(num_devices - 1, 0).bit_length()


def step_of(runtime_ms: int) -> int:
    """The step of the histogram in which a run time lies."""
    octaves = log2(max(runtime_ms, SHORTEST_MS) / SHORTEST_MS)
    return min(int(octaves * STEPS_PER_OCTAVE), NUM_STEPS - 1)


def calibration(outcomes: Iterable[Outcome]) -> tuple[Calibration, ...]:
    """For each quantile predicted, how it turned out. Jobs that history knew nothing of count in coverage."""
    by_quantile: dict[float, list[Outcome]] = {}
    for outcome in outcomes:
        by_quantile.setdefault(outcome.quantile, []).append(outcome)
    return tuple(_calibration(quantile, by_quantile[quantile]) for quantile in sorted(by_quantile))


def replay(
    jobs: Sequence[tuple[int, Features, int]], history: History, *, quantiles: Sequence[float]
) -> tuple[Outcome, ...]:
    """Predicts each (start, features, run time) from those that had ended when it started, in time order."""
    ends = deque(sorted(jobs, key=lambda job: job[0] + job[2]))
    outcomes = []
    for started_ms, features, runtime_ms in sorted(jobs, key=lambda job: job[0]):
        while ends[0][0] + ends[0][2] < started_ms:
            _, earlier, lasted_ms = ends.popleft()
            history.add(RunRecord(features=earlier, runtime_ms=lasted_ms))
        for quantile in quantiles:
            prediction = history.predict(features, quantile)
            outcomes.append(Outcome(quantile=quantile, prediction=prediction, runtime_ms=runtime_ms))
    return tuple(outcomes)


def _calibration(quantile: float, outcomes: Sequence[Outcome]) -> Calibration:
    known = [
        (outcome.prediction.ms, outcome.runtime_ms)
        for outcome in outcomes
        if outcome.prediction.ms is not None and outcome.prediction.basis is not Grounds.LIMIT
    ]
    predicted = np.maximum(np.array([pair[0] for pair in known], dtype=np.float64), 1)
    actual = np.maximum(np.array([pair[1] for pair in known], dtype=np.float64), 1)
    return Calibration(
        quantile=quantile,
        share_below=float((actual <= predicted).mean()) if known else 0.0,
        mean_abs_log2_error=float(np.abs(np.log2(predicted / actual)).mean()) if known else 0.0,
        coverage=len(known) / len(outcomes),
    )


def _quantile(shares: FloatArray, quantile: float, ran_ms: int) -> int:
    """The quantile of those that lie above `ran_ms`, which is taken to lie evenly inside its step."""
    position = log2(max(ran_ms, SHORTEST_MS) / SHORTEST_MS) * STEPS_PER_OCTAVE if ran_ms else 0.0
    first = min(int(position), NUM_STEPS - 1)
    above = shares[first:].copy()
    above[0] *= min(max(first + 1 - position, 0.0), 1.0)
    sums = np.cumsum(above)
    if sums[-1] <= 1e-9:
        return 2 * ran_ms
    wanted = quantile * sums[-1]
    step = min(int(np.searchsorted(sums, wanted)), len(sums) - 1)
    before = float(sums[step - 1]) if step else 0.0
    inside = (wanted - before) / float(above[step]) if above[step] > 0 else 1.0
    low = position if step == 0 else float(first + step)
    return round(SHORTEST_MS * exp2((low + inside * (first + step + 1 - low)) / STEPS_PER_OCTAVE))
