"""Policies that give each job just the devices it asked for, or none: FIFO, backfill, shortest first."""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic

from scheduling.simulation.rounds import Allocation, Cluster, J, free_devices


class Rigid(Generic[J]):
    """Serves jobs in an order. `skips`: one that does not fit lets those behind it pass, without a
    reservation. `preempts`: those behind lose their devices to those ahead.
    """

    def __init__(self, order: Callable[[J], float], *, skips: bool, preempts: bool = False) -> None:
        self._order = order
        self._skips = skips
        self._preempts = preempts

    def allocate(
        self,
        jobs: Sequence[J],
        *,
        cluster: Cluster,
        now_s: int,  # noqa: ARG002
    ) -> Mapping[str, Allocation]:
        """The first ones that fit by number of devices."""
        held = [] if self._preempts else [job for job in jobs if job.allocation]
        waiting = [job for job in jobs if self._preempts or not job.allocation]
        ordered = sorted(waiting, key=self._order)
        return place(chosen(ordered, held=held, cluster=cluster, skips=self._skips), cluster)


def chosen(ordered: Sequence[J], *, held: Sequence[J], cluster: Cluster, skips: bool) -> list[J]:
    """Those that keep their devices, then the first ones that fit beside them."""
    free = cluster.num_devices - sum(job.num_wanted for job in held)
    taken = list(held)
    for job in ordered:
        if job.num_wanted <= free:
            taken.append(job)
            free -= job.num_wanted
        elif not skips:
            break
    return taken


def place(jobs: Sequence[J], cluster: Cluster) -> dict[str, Allocation]:
    """Running jobs stay where they are; in turn the others take whole nodes, the emptiest first."""
    allocations = {job.name: job.allocation for job in jobs if job.allocation}
    free = free_devices(allocations.values(), cluster)
    for job in jobs:
        if not job.allocation:
            allocations[job.name] = _emptiest_first(free, job.num_wanted)
    return allocations


def _emptiest_first(free: list[int], wanted: int) -> Allocation:
    """Takes devices out of `free`."""
    allocation: list[int] = []
    while len(allocation) < wanted:
        node = max(range(len(free)), key=lambda index: free[index])
        taken = min(free[node], wanted - len(allocation))
        free[node] -= taken
        allocation += [node] * taken
    return tuple(allocation)
