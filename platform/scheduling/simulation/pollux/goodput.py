"""What a job expects of a number of devices: goodput (progress per second) by its fitted model, and the batch
with which it is highest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduling.simulation.pollux.batches import Batch, candidates
from scheduling.simulation.pollux.estimates import Counts, StepModel
from scheduling.simulation.pollux.profiles import Application

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a job of an application knows: the model of its steps, and its gradient as last measured."""

    application: Application
    model: StepModel
    gradient: tuple[float, float]

    def best_batch(self, num_nodes: int, num_devices: int) -> Batch:
        """The batch with the highest goodput on these devices."""
        local, extra = candidates(self.application, num_devices)
        best = int(np.argmax(self._goodput(num_nodes, num_devices, local, extra)))
        return Batch(int(local[best]), int(extra[best]))

    def goodputs(self, sizes: Sequence[tuple[int, int]]) -> FloatArray:
        """Progress per second with the best batch, for each number of nodes and devices."""
        local, extra = (
            np.array(each) for each in zip(*(candidates(self.application, k) for _, k in sizes), strict=True)
        )
        nodes, devices = np.array(sizes).T[:, :, None]
        best: FloatArray = self._goodput(nodes, devices, local, extra).max(axis=1)
        return best

    def goodputs_with(self, sizes: Sequence[tuple[int, int]], batches: Sequence[Batch]) -> FloatArray:
        """Progress per second, for each number of nodes and devices with its batch."""
        nodes, devices = np.array(sizes).T
        local, extra = np.array([(batch.local, batch.extra_passes) for batch in batches], dtype=np.float64).T
        return self._goodput(nodes, devices, local, extra)

    def _goodput(self, nodes: Counts, devices: Counts, local: FloatArray, extra: FloatArray) -> FloatArray:
        seconds = self.model.step_s(nodes, devices, local) + extra * self.model.compute_s(local)
        gains = self._gain(devices * local * (extra + 1))
        least, most = self.application.least_local_batch, self.application.most_local_batch
        return np.where((local >= least) & (local <= most), gains / seconds, 0.0)

    def _gain(self, total: FloatArray) -> FloatArray:
        """Progress of one step by its batch size, in steps at the least one (Pollux, equation 7)."""
        (sqr, var), scale = self.gradient, total / self.application.least_batch
        noise = var / scale + sqr
        return np.where(noise > 0, (var + sqr) / np.where(noise > 0, noise, 1.0), scale)
