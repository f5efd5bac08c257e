"""What a job knows about its own speed: what it measured where it ran, and a model fitted to that.

Model of one step (Pollux, equations 8 to 11): computing takes a + b x local batch; synchronising takes a time
for each kind of link, and more with each device beyond two; both overlap as a power mean. A kind of link that
was never measured is believed to be free, but one between nodes no faster than one inside a node.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Counts = FloatArray | NDArray[np.int64] | int
Measured = Mapping[tuple[int, int, int], tuple[float, float]]  # nodes, devices, local batch: step, sync time
Link = tuple[float, float]  # seconds between two devices, and what each further one adds

OVERLAPS = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)  # exponents of the power mean: 1 is none, 10 nearly all
OVERLAP_PENALTY = 1e-3  # prefers less overlap among fits that are as good
FAR_FACTOR = 1.1
GROWTH_PENALTY = 1e-2  # prefers links that do not slow down with more devices


@dataclass(frozen=True, slots=True)
class StepModel:
    """Seconds of a step."""

    compute_base: float
    compute_slope: float
    near: Link = (0.0, 0.0)
    far: Link = (0.0, 0.0)
    overlap: float = 1.0

    def compute_s(self, local_batch: FloatArray) -> FloatArray:
        """One pass over the local batch."""
        return self.compute_base + self.compute_slope * local_batch

    def step_s(self, num_nodes: Counts, num_devices: Counts, local_batch: FloatArray) -> FloatArray:
        """One pass and the synchronisation after it."""
        base = np.where(num_nodes > 1, self.far[0], self.near[0])
        growth = np.where(num_nodes > 1, self.far[1], self.near[1])
        link = np.where(num_devices > 1, base + growth * np.maximum(num_devices - 2, 0), 0.0)
        power = self.overlap
        mean: FloatArray = (self.compute_s(local_batch) ** power + link**power) ** (1 / power)
        return mean


class Estimates:
    """One job's measurements, and the model behind them. `version` counts what it learned."""

    def __init__(self) -> None:
        self._measured: dict[tuple[int, int, int], tuple[float, float]] = {}
        self._model: StepModel | None = None
        self.version = 0

    @property
    def sizes(self) -> frozenset[int]:
        """The numbers of devices that it ran on so far."""
        return frozenset(num_devices for _, num_devices, _ in self._measured)

    @property
    def most_devices(self) -> int:
        """The largest of them."""
        return max(self.sizes, default=0)

    def measure(self, num_nodes: int, num_devices: int, local_batch: int, times: tuple[float, float]) -> None:
        """Remembers step and sync time of a size and batch. The same again teaches nothing."""
        key = (num_nodes, num_devices, local_batch)
        if key not in self._measured:
            self._measured[key] = times
            self._model = None
            self.version += 1

    @property
    def model(self) -> StepModel | None:
        """The fitted model; None before the first measurement."""
        if self._model is None and self._measured:
            self._model = fit(self._measured)
        return self._model


def fit(measured: Measured) -> StepModel:
    """The model nearest to what was measured, in logarithms of step times."""
    nodes, devices, batches = np.array(list(measured), dtype=np.float64).T
    step, sync = np.array(list(measured.values())).T
    base, slope = _fit_compute(batches, step - sync)
    best: tuple[float, StepModel] | None = None
    for overlap in OVERLAPS:
        link = np.maximum(step**overlap - (base + slope * batches) ** overlap, 0.0) ** (1 / overlap)
        near = _fit_link(devices, link, of=(nodes == 1) & (devices > 1))
        far = _fit_link(devices, link, of=nodes > 1)
        if not (nodes > 1).any():
            far = (FAR_FACTOR * (near[0] + near[1] * float(np.maximum(devices - 2, 0).max())), 0.0)
        model = StepModel(base, slope, near, far, overlap)
        miss = np.log(model.step_s(nodes, devices, batches)) - np.log(step)
        cost = float(np.sqrt((miss**2).mean())) + OVERLAP_PENALTY * (overlap - 1) ** 2
        if best is None or cost < best[0]:
            best = cost, model
    assert best is not None
    return best[1]


def _fit_compute(batches: FloatArray, compute_s: FloatArray) -> tuple[float, float]:
    """Least squares of relative errors, no part below zero; of one batch size alone, half is fixed."""
    mean = float(compute_s.mean())
    if len(np.unique(batches)) == 1:
        return mean / 2, mean / 2 / float(batches[0])
    columns = np.column_stack([1 / compute_s, batches / compute_s])
    base, slope = np.linalg.lstsq(columns, np.ones(len(batches)), rcond=None)[0]
    if base < 0:
        return 0.0, float((compute_s / batches).mean())
    return (float(base), float(slope)) if slope > 0 else (mean, 0.0)


def _fit_link(devices: FloatArray, link_s: FloatArray, *, of: NDArray[np.bool_]) -> Link:
    """A constant and a growth by device, ridge regression towards no growth, neither below zero."""
    further, times = np.maximum(devices[of] - 2, 0), link_s[of]
    if not times.size or times.max() <= 0:
        return 0.0, 0.0
    if further.max() == 0 or len(times) == 1:
        return float(times.mean()), 0.0
    scale = float(times.mean())
    spread = float(((further - further.mean()) ** 2).mean()) + GROWTH_PENALTY
    growth = float(((further - further.mean()) * (times - scale)).mean()) / spread
    growth = min(max(growth, 0.0), scale / float(further.mean()))
    return max(scale - growth * float(further.mean()), 0.0), growth
