"""How a batch is split over devices, and which batches an adapting job may choose from."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scheduling.simulation.pollux.profiles import Application

FloatArray = NDArray[np.float64]
NUM_CANDIDATES = 50  # sizes tried, in geometric steps, as in the artifact
_TINY = 1e-8  # keeps rounding errors of a division from rounding a whole number up


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples per device at a time, and how many passes are added up before the last one of a step."""

    local: int
    extra_passes: int = 0

    def total(self, num_devices: int) -> int:
        """The samples of one step."""
        return num_devices * self.local * (self.extra_passes + 1)


def split(application: Application, total: float, num_devices: int) -> Batch:
    """A total batch split over devices; a large one on a single device needs two passes, to measure the
    gradient's noise.
    """
    share = math.ceil(total / num_devices - _TINY)
    extra = math.ceil(share / application.most_local_batch - _TINY) - 1
    if num_devices == 1 and total > application.least_batch:
        extra = max(1, extra)
    local = math.ceil(share / (extra + 1) - _TINY)
    return Batch(min(local, application.most_batch // (num_devices * (extra + 1))), extra)


def least(application: Application, num_devices: int) -> Batch:
    """The smallest batch that so many devices may have."""
    return split(
        application, max(application.least_batch, application.least_local_batch * num_devices), num_devices
    )


@lru_cache(maxsize=1024)
def candidates(application: Application, num_devices: int) -> tuple[FloatArray, FloatArray]:
    """Local batches and extra passes of all batches to choose from, from the least to the most in total."""
    smallest = max(application.least_batch, application.least_local_batch * num_devices)
    if smallest > application.most_batch:
        raise ValueError(f"{application.name} cannot use {num_devices} devices")
    share = np.geomspace(smallest, application.most_batch, NUM_CANDIDATES) / num_devices
    extra = np.ceil(share / application.most_local_batch - _TINY) - 1
    if num_devices == 1:
        extra = np.where(share > application.least_batch + _TINY, np.maximum(extra, 1), extra)
    local = np.ceil(share / (extra + 1) - _TINY)
    return np.minimum(local, application.most_batch // (num_devices * (extra + 1))), extra
