"""One clock for every policy: jobs train for a round, then the scheduler says what each holds next."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from scheduling.simulation.traces import no_clock

Allocation = tuple[int, ...]  # the node of each device, in rank order; empty: it waits


class RoundJob(Protocol):
    """A job as the rounds see it."""

    name: str
    submitted_at_s: int
    completed_at_s: int | None
    num_wanted: int
    allocation: Allocation

    def advance(self, seconds: int) -> None:
        """Trains on what it holds; without anything it waits."""

    def reallocate(self, allocation: Sequence[int]) -> None:
        """Holds this from now on, after a restart."""


J = TypeVar("J", bound=RoundJob)
J_contra = TypeVar("J_contra", bound=RoundJob, contravariant=True)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Equal nodes."""

    num_nodes: int = 16
    devices_per_node: int = 4

    @property
    def num_devices(self) -> int:
        """Devices of all nodes."""
        return self.num_nodes * self.devices_per_node


class Scheduler(Protocol[J_contra]):
    """A policy: from the jobs that are there, with what they hold, to what they hold next."""

    def allocate(self, jobs: Sequence[J_contra], *, cluster: Cluster, now_s: int) -> Mapping[str, Allocation]:
        """By name; a job left out holds nothing."""


def simulate(
    jobs: Sequence[J],
    scheduler: Scheduler[J],
    *,
    cluster: Cluster,
    round_s: int = 60,
    clock: Callable[[], float] = no_clock,
) -> list[float]:
    """Runs the jobs to their ends and returns the seconds that each decision took by `clock`."""
    now_s, seconds = 0, []
    while any(job.completed_at_s is None for job in jobs):
        for job in jobs:
            job.advance(round_s)
        now_s += round_s
        present = [job for job in jobs if job.submitted_at_s <= now_s and job.completed_at_s is None]
        if present:
            began = clock()
            allocations = scheduler.allocate(present, cluster=cluster, now_s=now_s)
            seconds.append(clock() - began)
            _carry_out(present, allocations, cluster)
    return seconds


def free_devices(allocations: Iterable[Allocation], cluster: Cluster) -> list[int]:
    """Free devices of each node beside these allocations."""
    used = Counter(node for allocation in allocations for node in allocation)
    return [cluster.devices_per_node - used[node] for node in range(cluster.num_nodes)]


def _carry_out(jobs: Sequence[J], allocations: Mapping[str, Allocation], cluster: Cluster) -> None:
    """Only a job whose devices change restarts."""
    if min(free_devices(allocations.values(), cluster)) < 0:
        raise ValueError("a node was given away twice")
    for job in jobs:
        allocation = allocations.get(job.name, ())
        if allocation != job.allocation:
            job.reallocate(allocation)
