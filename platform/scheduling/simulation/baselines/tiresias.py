"""Tiresias (Gu et al., NSDI'19): two levels of attained service, first come first served inside each."""

from collections.abc import Mapping, Sequence
from typing import Generic

from scheduling.simulation.baselines.rigid import chosen, place
from scheduling.simulation.rounds import Allocation, Cluster, J

THRESHOLD_DEVICE_S = 16 * 3600


class Tiresias(Generic[J]):
    """A job falls to the lower level for good once devices x running seconds reach the threshold."""

    def __init__(self, *, threshold_device_s: int = THRESHOLD_DEVICE_S) -> None:
        self._threshold = threshold_device_s
        self._ran_s: dict[str, int] = {}
        self._last_s = 0
        self._fallen: dict[str, int] = {}

    def allocate(self, jobs: Sequence[J], *, cluster: Cluster, now_s: int) -> Mapping[str, Allocation]:
        """The upper level in order of arrival, then the lower one in order of falling, while they fit."""
        for job in jobs:
            self._account(job, now_s - self._last_s)
        self._last_s = now_s
        upper = [job for job in jobs if job.name not in self._fallen]
        lower = [job for job in jobs if job.name in self._fallen]
        lower.sort(key=lambda job: self._fallen[job.name])
        return place(chosen([*upper, *lower], held=(), cluster=cluster, skips=True), cluster)

    def _account(self, job: J, seconds: int) -> None:
        """Counts the round as run if the job held devices in it."""
        if job.allocation:
            self._ran_s[job.name] = self._ran_s.get(job.name, 0) + seconds
        if job.name not in self._fallen and self._ran_s.get(job.name, 0) * job.num_wanted >= self._threshold:
            self._fallen[job.name] = len(self._fallen)
