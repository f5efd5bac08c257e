"""What a job expects of a number of devices: goodput (progress per second) by its fitted model, and the batch
with which it is highest.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduling.simulation.pollux.batches import Batch, candidates
from scheduling.simulation.pollux.estimates import StepModel
from scheduling.simulation.pollux.profiles import Application

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Choice:
    """A batch, and the progress per second expected of it, in steps at the least batch size."""

    batch: Batch
    goodput: float


def gain(application: Application, gradient: tuple[float, float], total: FloatArray) -> FloatArray:
    """Progress of one step by its batch size, in steps at the least one (Pollux, equation 7)."""
    sqr, var = gradient
    noise = var * application.least_batch / total + sqr
    return np.where(noise > 0, (var + sqr) / np.where(noise > 0, noise, 1.0), total / application.least_batch)


def best_choice(
    application: Application,
    model: StepModel,
    gradient: tuple[float, float],
    *,
    num_nodes: int,
    num_devices: int,
    batch: Batch | None = None,
) -> Choice:
    """The batch with the highest goodput on these devices, or the given one."""
    if batch is None:
        local, extra = candidates(application, num_devices)
    else:
        local, extra = np.array([float(batch.local)]), np.array([float(batch.extra_passes)])
    nodes, devices = np.full_like(local, num_nodes), np.full_like(local, num_devices)
    seconds = model.step_s(nodes, devices, local) + extra * model.compute_s(local)
    goodput = gain(application, gradient, num_devices * local * (extra + 1)) / seconds
    is_known = (local >= application.least_local_batch) & (local <= application.most_local_batch)
    best = int(np.argmax(np.where(is_known, goodput, 0.0)))
    return Choice(Batch(int(local[best]), int(extra[best])), float(goodput[best]))
