"""The numbers behind reasons: what fits, what is free, who uses what. Each is worked out once for a plan."""

from collections.abc import Iterable

import numpy as np

from scheduling.amounts import DEVICE_MILLI, Kind, kind_of
from scheduling.ends import leaving
from scheduling.model import Help, Job, JobId, Placement
from scheduling.placements import Spot, spots
from scheduling.standing import Standing
from scheduling.supply import BoolArray, Free


class Measures:
    """Questions about a finished plan, with remembered answers."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._most: dict[tuple[int, Kind], int] = {}
        self._free: dict[tuple[int, tuple[str, ...], bool], int] = {}
        self._users: dict[tuple[str, ...], dict[int, int]] = {}
        self._others: dict[tuple[tuple[str, ...], int], dict[int, int]] = {}
        self._kept: dict[JobId, int] = {}
        self._leaving_at: dict[Spot, list[JobId]] | None = None
        self._keepers: dict[tuple[str, ...], JobId] = {}
        self._leaving = list(leaving(standing))

    def most_workers(self, free: Free, kind: Kind) -> int:
        """The most workers of a kind that one allowed place holds."""
        key = (id(free), kind)
        if key not in self._most:
            self._most[key] = self._standing.placer.most_workers(free, kind)
        return self._most[key]

    def fits(self, free: Free, job: Job) -> bool:
        """Whether the job's gang has a place."""
        return self.most_workers(free, self._kind(job)) >= job.least_workers

    def way_out(self, free: Free, job: Job) -> Help | None:
        """The condition without which the job would fit, if dropping one is enough."""
        kind = self._kind(job)
        anywhere = kind_of(kind.shape, kind.types, (), kind.selectors, kind.group_workers)
        if anywhere is not kind and self.most_workers(free, anywhere) >= job.least_workers:
            return Help.RELAX_TOPOLOGY
        any_type = kind_of(kind.shape, (), kind.required, kind.selectors, kind.group_workers)
        if any_type is not kind and self.most_workers(free, any_type) >= job.least_workers:
            return Help.ALLOW_MORE_TYPES
        return None

    def free_milli(self, free: Free, kind: Kind) -> int:
        """Free accelerators on the allowed types: whole ones only, unless the job takes a part of one."""
        key = (id(free), kind.types, kind.shape.is_fraction)
        if key not in self._free:
            nodes = self._nodes_of(kind)
            parts = kind.shape.is_fraction
            room = np.maximum(free.devices[nodes], 0) if parts else free.whole[nodes] * DEVICE_MILLI
            self._free[key] = int(room.sum())
        return self._free[key]

    def is_enough(self, free: Free, job: Job) -> bool:
        """Whether enough is free in total (of what it needs, for a job without accelerators)."""
        kind = self._kind(job)
        if job.total_milli:
            return self.free_milli(free, kind) >= job.total_milli
        nodes = self._nodes_of(kind) & free.open
        cpus, memory = np.maximum(free.cpus[nodes], 0).sum(), np.maximum(free.memory[nodes], 0).sum()
        wanted_cpus, wanted_memory = job.least_workers * job.cpus_milli, job.least_workers * job.memory_bytes
        return bool(cpus >= wanted_cpus and memory >= wanted_memory)

    def room(self, free: Free, job: Job) -> dict[str, int | str]:
        """What was asked for and what there is."""
        kind = self._kind(job)
        return {
            **self.amounts(free, job),
            "queue": job.queue,
            "workers": job.least_workers,
            "largest_workers": self.most_workers(free, kind),
            "accelerators_milli": job.accelerators_milli,
            "cpus_milli": job.cpus_milli,
            "memory_bytes": job.memory_bytes,
            "level": self._standing.topology.narrowest(kind.required),
            "types": ", ".join(job.types),
        }

    def amounts(self, free: Free, job: Job) -> dict[str, int | str]:
        """Free and wanted accelerators."""
        return {"free_milli": self.free_milli(free, self._kind(job)), "wanted_milli": job.total_milli}

    def users(self, job: Job) -> dict[int, int]:
        """What each queue holds on the accelerator types that the job allows, in milli-units."""
        if job.types not in self._users:
            self._users[job.types] = self._count_users(self._nodes_of(self._kind(job)))
        return self._users[job.types]

    def others(self, job: Job, queue: int) -> dict[int, int]:
        """The same of the queues but one, who holds most first."""
        key = (job.types, queue)
        if key not in self._others:
            users = sorted(self.users(job).items(), key=lambda held: (-held[1], held[0]))
            self._others[key] = {other: amount for other, amount in users if other != queue}
        return self._others[key]

    def kept_and_free(self, job: JobId) -> int:
        """What is kept for the job and free already, in milli-units."""
        if job not in self._kept:
            footprint = self._standing.footprint(self._standing.jobs[job], self._standing.keeps[job])
            room = self._standing.real.devices[footprint.device_nodes, footprint.device_indices]
            self._kept[job] = int((room >= footprint.device_milli).sum()) * footprint.device_milli
        return self._kept[job]

    def main_keeper(self, job: Job) -> JobId:
        """Of the jobs for which a place is kept that this one could use, that with the largest free part."""
        if job.types not in self._keepers:
            nodes, index = self._nodes_of(self._kind(job)), self._standing.supply.index
            keeps = self._standing.keeps
            usable = [other for other, kept in keeps.items() if any(nodes[index[w.node]] for w in kept)]
            self._keepers[job.types] = min(usable, key=lambda other: (-self.kept_and_free(other), other))
        return self._keepers[job.types]

    def victims(self, job: JobId) -> list[JobId]:
        """The leaving jobs on the devices (or, without any, on the nodes) that are kept for this one."""
        if self._leaving_at is None:
            self._leaving_at = _by_spot(self._leaving)
        kept = set(spots(self._standing.keeps[job]))
        return sorted({other for spot in kept for other in self._leaving_at.get(spot, ())})

    def _kind(self, job: Job) -> Kind:
        return self._standing.requests[job.id].kind

    def _nodes_of(self, kind: Kind) -> BoolArray:
        supply = self._standing.supply
        numbers = [number for number, name in enumerate(supply.types) if not kind.types or name in kind.types]
        return np.isin(supply.type_of, numbers)

    def _count_users(self, nodes: BoolArray) -> dict[int, int]:
        standing = self._standing
        columns = standing.holdings.columns()
        rows = standing.holdings.active()[columns.device_slot] & nodes[columns.device_node]
        queues, milli = columns.queue[columns.device_slot[rows]], columns.device_milli[rows]
        used = np.bincount(queues, weights=milli, minlength=len(standing.tree.queues)).astype(np.int64)
        for job, placement in self._leaving:
            used[standing.queue_of(job)] += len(placement) * job.accelerators_milli
        return {queue: int(amount) for queue, amount in enumerate(used) if amount}


def _by_spot(placements: Iterable[tuple[Job, Placement]]) -> dict[Spot, list[JobId]]:
    """Who holds something at each spot."""
    found: dict[Spot, list[JobId]] = {}
    for job, placement in placements:
        for spot in set(spots(placement)):
            found.setdefault(spot, []).append(job.id)
    return found
