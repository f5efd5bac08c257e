"""What was measured of each application: step times by placement and batch size, gradients by progress.

Interpolation as in the simulator of the Pollux artifact (petuum/adaptdl, branch osdi21-artifact, Apache-2.0):
linear in the local batch size where the placement was measured, else between the nearest measured numbers of
nodes, there at equal devices per node.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Shape = tuple[int, ...]  # devices on each node of a placement, in rank order

MOST_LOCAL_BATCH = {"yolov3": 8}  # what fits into memory, where less than the largest batch measured


@dataclass(frozen=True, slots=True)
class _Curve:
    """Step and sync time of one placement by local batch size."""

    batches: FloatArray
    step_s: FloatArray
    sync_s: FloatArray

    def at(self, local_batch: float) -> FloatArray:
        """Both at a local batch size; outside the sizes measured, on the line through the last two."""
        last = len(self.batches) - 1
        above = min(max(int(np.searchsorted(self.batches, local_batch)), 1), last)
        share = (local_batch - self.batches[above - 1]) / (self.batches[above] - self.batches[above - 1])
        low = np.array([self.step_s[above - 1], self.sync_s[above - 1]])
        high = np.array([self.step_s[above], self.sync_s[above]])
        between: FloatArray = low + (high - low) * share
        return between


@dataclass(frozen=True, slots=True)
class _Validation:
    """One training run at a fixed batch size, epoch by epoch."""

    progress: FloatArray
    grad_sqr: FloatArray
    grad_var: FloatArray


class Application:
    """One application's profile. Progress is counted in steps at the smallest batch size validated."""

    def __init__(self, directory: Path) -> None:
        self.name = directory.name
        self._placed = _curves_by_placement(directory / "placements.csv")
        self._scaled = _curves_by_size(directory / "scalability.csv", self._placed)
        self._runs = _validations(directory)
        self.batches = tuple(sorted(self._runs))
        self.least_batch, self.most_batch = self.batches[0], self.batches[-1]
        curve = self._placed[(1,)]
        self.least_local_batch = int(curve.batches[0])
        self.most_local_batch = MOST_LOCAL_BATCH.get(self.name, int(curve.batches[-1]))
        self.num_epochs = min(len(run.progress) for run in self._runs.values())
        self._ends = np.min([run.progress[: self.num_epochs] for run in self._runs.values()], axis=0)
        self._times: dict[tuple[Shape, int], tuple[float, float]] = {}
        self._gradients: dict[tuple[int, int], tuple[float, float]] = {}

    def epoch_end(self, epoch: int) -> float:
        """Progress at the end of an epoch, the first one being 0."""
        return float(self._ends[epoch])

    def step_times(self, shape: Shape, local_batch: int) -> tuple[float, float]:
        """Seconds of one step, and the part of them spent on synchronising gradients."""
        key = (shape, local_batch)
        if key not in self._times:
            turned = min(shape[i:] + shape[:i] for i in range(len(shape)))
            curve = self._placed.get(turned)
            step, sync = curve.at(local_batch) if curve else self._between(shape, local_batch)
            self._times[key] = float(step), float(sync)
        return self._times[key]

    def gradient(self, batch: int, epoch: int) -> tuple[float, float]:
        """Squared norm and variance of the gradient in an epoch, linear between the validated batch sizes."""
        key = (batch, epoch)
        if key not in self._gradients:
            if not self.least_batch <= batch <= self.most_batch:
                raise ValueError(f"a batch of {batch} was never validated")
            runs = [self._runs[size] for size in self.batches]
            sqr = float(np.interp(batch, self.batches, [run.grad_sqr[epoch] for run in runs]))
            var = float(np.interp(batch, self.batches, [run.grad_var[epoch] for run in runs]))
            self._gradients[key] = sqr, var
        return self._gradients[key]

    def gain(self, batch: int, epoch: int) -> float:
        """Progress of one step at this batch size, in steps at the least one (Pollux, equation 7)."""
        sqr, var = self.gradient(batch, epoch)
        return (var + sqr) / (var * self.least_batch / batch + sqr)

    def _between(self, shape: Shape, local_batch: int) -> FloatArray:
        """Linear in the number of nodes, at as many devices per node."""
        num_nodes = min(len(shape), max(self._scaled))
        per_node = sum(shape) / len(shape)
        below = max(nodes for nodes in self._scaled if nodes <= num_nodes)
        above = min(nodes for nodes in self._scaled if nodes >= num_nodes)
        low = _by_size(self._scaled[below], below * per_node, local_batch)
        if below == above:
            return low
        high = _by_size(self._scaled[above], above * per_node, local_batch)
        return low + (high - low) * (num_nodes - below) / (above - below)


def load_applications(directory: Path) -> dict[str, Application]:
    """Every application under the directory of profiles, by name."""
    return {path.name: Application(path) for path in sorted(directory.iterdir()) if path.is_dir()}


@lru_cache(maxsize=4)
def applications(directory: Path) -> Mapping[str, Application]:
    """The same, read once."""
    return load_applications(directory)


def _by_size(curves: Mapping[int, _Curve], size: float, local_batch: int) -> FloatArray:
    """Linear between the measured numbers of devices."""
    sizes = sorted(curves)
    below = max((known for known in sizes if known <= size), default=sizes[0])
    above = min((known for known in sizes if known >= size), default=sizes[-1])
    low = curves[below].at(local_batch)
    if below == above:
        return low
    return low + (curves[above].at(local_batch) - low) * (size - below) / (above - below)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def _curve(rows: Iterable[Mapping[str, str]]) -> _Curve:
    ordered = sorted(rows, key=lambda row: int(row["local_bsz"]))
    return _Curve(
        batches=np.array([float(row["local_bsz"]) for row in ordered]),
        step_s=np.array([float(row["step_time"]) for row in ordered]),
        sync_s=np.array([float(row["sync_time"]) for row in ordered]),
    )


def _curves_by_placement(path: Path) -> dict[Shape, _Curve]:
    groups: dict[Shape, list[dict[str, str]]] = {}
    for row in _rows(path):
        groups.setdefault(tuple(int(digit) for digit in row["placement"]), []).append(row)
    return {shape: _curve(rows) for shape, rows in groups.items()}


def _curves_by_size(path: Path, placed: Mapping[Shape, _Curve]) -> dict[int, dict[int, _Curve]]:
    """By number of nodes and of devices: the measured sizes, and the placements averaged."""
    groups: dict[tuple[int, int], list[dict[str, str]]] = {}
    for row in _rows(path):
        groups.setdefault((int(row["num_nodes"]), int(row["num_replicas"])), []).append(row)
    curves: dict[int, dict[int, _Curve]] = {}
    for (num_nodes, size), rows in groups.items():
        curves.setdefault(num_nodes, {})[size] = _curve(rows)
    alike: dict[tuple[int, int], list[_Curve]] = {}
    for shape, curve in placed.items():
        alike.setdefault((len(shape), sum(shape)), []).append(curve)
    for (num_nodes, size), same in alike.items():
        curves.setdefault(num_nodes, {})[size] = _mean(same)
    return curves


def _mean(curves: Sequence[_Curve]) -> _Curve:
    """Placements alike in size and nodes: most were measured at the same batch sizes."""
    batches = curves[0].batches
    kept = [curve for curve in curves if np.array_equal(curve.batches, batches)]
    return _Curve(
        batches=batches,
        step_s=np.mean([curve.step_s for curve in kept], axis=0),
        sync_s=np.mean([curve.sync_s for curve in kept], axis=0),
    )


def _validations(directory: Path) -> dict[int, _Validation]:
    runs = {}
    for path in directory.glob("validation-*.csv"):
        rows = _rows(path)
        runs[int(path.stem.removeprefix("validation-"))] = _Validation(
            progress=np.array([float(row["progress"]) for row in rows]),
            grad_sqr=np.array([float(row["grad_sqr"]) for row in rows]),
            grad_var=np.array([float(row["grad_var"]) for row in rows]),
        )
    return runs
