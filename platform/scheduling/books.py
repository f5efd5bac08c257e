"""What the rows of a snapshot imply, and what stays true of it from one event to the next.

Built once from all rows; after an event only what the changed rows touch is done again. Never changed once
built: a plan works on copies (`scheduling.standing`).
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from scheduling.amounts import Ask, Kind, Request, request_of
from scheduling.fragmentation import Mix
from scheduling.holdings import Holding, Holdings, give_back
from scheduling.least_loss import mix_of
from scheduling.model import Job, JobId, JobPhase, Packing
from scheduling.ordering import turn_of
from scheduling.placement import Placer
from scheduling.shares import QueueTree
from scheduling.supply import Free, Supply
from scheduling.topology import Topology

if TYPE_CHECKING:
    from scheduling.snapshot import Snapshot


class Cluster:
    """The nodes as the engine counts on them: supply, topology, and what only depends on these."""

    def __init__(self, snapshot: "Snapshot") -> None:
        self.nodes = snapshot.nodes
        self.supply = Supply(snapshot.nodes, levels=snapshot.levels)
        self.topology = Topology(self.supply)
        self.empty = self.supply.capacity(only_usable=False)
        self.most_ever: dict[Kind, int] = {}
        self._placers: dict[Packing, Placer] = {}

    def placer(self, packing: Packing) -> Placer:
        """The placer for a way of packing."""
        if packing not in self._placers:
            self._placers[packing] = Placer(self.supply, self.topology, packing=packing)
        return self._placers[packing]


class Books:
    """Accounts of one snapshot. `real`: capacity less what running and leaving jobs hold; `later`: less what
    stays when the leaving are gone. `lines`: who waits in each queue (by number), in order of turn.
    """

    def __init__(self, snapshot: "Snapshot", *, cluster: Cluster | None = None) -> None:
        self.cluster = cluster or Cluster(snapshot)
        self.queues = snapshot.queues
        self.jobs: dict[JobId, Job] = {job.id: job for job in snapshot.jobs}
        self.requests: dict[JobId, Request] = {job.id: request_of(job) for job in snapshot.jobs}
        self._asks: dict[tuple[int, Request, int, str], Ask] = {}
        self._workers: Counter[Kind] = Counter()
        self._mix: Mix | None = None
        for request in self.requests.values():
            self._workers[request.kind] += request.num_workers
        self.tree = QueueTree(
            snapshot.queues,
            named={job.queue for job in snapshot.jobs},
            types=self.cluster.supply.types,
            capacities=self.cluster.supply.capacities,
        )
        self.asks: dict[JobId, Ask] = {
            job.id: self._ask(job) for job in snapshot.jobs if job.phase is JobPhase.WAITING
        }
        self.lines: dict[int, list[Job]] = {}
        self.holdings = Holdings(self.cluster.supply)
        self.leaving: dict[JobId, Holding] = {}
        self.elastic: dict[JobId, Job] = {job.id: job for job in snapshot.jobs if job.is_elastic}
        self.damaged: dict[JobId, Job] = {job.id: job for job in snapshot.jobs if _is_damaged(job)}
        self._book(snapshot.jobs)

    def after(self, snapshot: "Snapshot", changes: Iterable[tuple[Job | None, Job | None]]) -> "Books":
        """The books of the next snapshot, given each changed job as it was and as it is."""
        if snapshot.nodes is not self.cluster.nodes:
            return Books(snapshot)
        listed = list(changes)
        if snapshot.queues is not self.queues or not self._knows(listed):
            return Books(snapshot, cluster=self.cluster)
        books = self._copy()
        for before, after in listed:
            if before is not None:
                books._remove(before)
            if after is not None:
                books._add(after)
        return books

    def waiting(self) -> Iterable[Job]:
        """Everybody who waits."""
        return (job for line in self.lines.values() for job in line)

    def mix(self) -> Mix:
        """The shapes of all jobs that wait or hold devices, as popular as they have workers."""
        if self._mix is None:
            self._mix = mix_of(self._workers, supply=self.cluster.supply)
        return self._mix

    def _ask(self, job: Job) -> Ask:
        """The one object for what this job asks."""
        queue = self.tree.number[job.queue]
        user = job.user if self.tree.caps_users(queue) else ""
        key = (queue, self.requests[job.id], job.total_milli, user)
        ask = self._asks.get(key)
        if ask is None:
            ask = self._asks[key] = Ask(*key)
        return ask

    def _knows(self, changes: Iterable[tuple[Job | None, Job | None]]) -> bool:
        return all(after is None or after.queue in self.tree.number for _, after in changes)

    def _copy(self) -> "Books":
        books = Books.__new__(Books)
        books.cluster, books.queues = self.cluster, self.queues
        books.jobs, books.requests = self.jobs.copy(), self.requests.copy()
        books.asks, books._asks = self.asks.copy(), self._asks
        books._workers, books._mix = self._workers.copy(), None
        books.tree = self.tree.copy()
        books.lines = self.lines.copy()
        books.holdings = self.holdings.copy()
        books.leaving = self.leaving.copy()
        books.elastic, books.damaged = self.elastic.copy(), self.damaged.copy()
        books.real, books.later = _handed_on(self.real), _handed_on(self.later)
        return books

    def _book(self, jobs: Iterable[Job]) -> None:
        lines: dict[int, list[Job]] = {}
        for job in jobs:
            if job.phase is JobPhase.WAITING:
                lines.setdefault(self.tree.number[job.queue], []).append(job)
            else:
                self._hold(job)
        self.lines = {queue: sorted(line, key=turn_of) for queue, line in lines.items()}
        self.later: Free = self.cluster.supply.capacity(only_usable=True)
        give_back(self.later, self.holdings.columns(), self.holdings.active(), times=-1)
        self.real: Free = self.later.copy()
        for holding in self.leaving.values():
            shape = self.requests[holding.job.id].kind.shape
            self.real.take(self.cluster.supply.footprint(holding.placement, shape=shape))

    def _hold(self, job: Job) -> None:
        stays, leaves = self._holdings_of(job)
        if stays is not None:
            self.tree.hold(stays.charge)
            self.holdings.add(stays)
        if leaves is not None:
            self.tree.hold(leaves.charge)
            self.tree.leave(leaves.charge)
            self.leaving[job.id] = leaves

    def _holdings_of(self, job: Job) -> tuple[Holding | None, Holding | None]:
        """What of the job's devices stays with it, and what it is leaving."""
        queue, supply = self.tree.number[job.queue], self.cluster.supply
        if job.phase is JobPhase.LEAVING:
            whole = (*job.placement, *job.releasing)
            return None, Holding(job, whole, queue, supply.type_at(whole))
        kind = supply.type_at(job.placement)
        leaves = Holding(job, job.releasing, queue, kind) if job.releasing else None
        return Holding(job, job.placement, queue, kind), leaves

    def _add(self, job: Job) -> None:
        self.jobs[job.id] = job
        request = self.requests[job.id] = request_of(job)
        self._workers[request.kind] += request.num_workers
        if job.is_elastic:
            self.elastic[job.id] = job
        if _is_damaged(job):
            self.damaged[job.id] = job
        if job.phase is JobPhase.WAITING:
            queue = self.tree.number[job.queue]
            self.asks[job.id] = self._ask(job)
            self.lines[queue] = line = self.lines.get(queue, []).copy()
            insort(line, job, key=turn_of)
            return
        self._hold(job)
        self._take(job, times=1)

    def _remove(self, job: Job) -> None:
        if job.phase is JobPhase.WAITING:
            queue = self.tree.number[job.queue]
            del self.asks[job.id]
            self.lines[queue] = line = self.lines[queue].copy()
            del line[bisect_left(line, turn_of(job), key=turn_of)]
        else:
            self._take(job, times=-1)
            self._let_go(job)
        request = self.requests.pop(job.id)
        self._workers[request.kind] -= request.num_workers
        del self.jobs[job.id]
        self.elastic.pop(job.id, None)
        self.damaged.pop(job.id, None)

    def _let_go(self, job: Job) -> None:
        if job.phase is JobPhase.PLACED:
            self.tree.hold(self.holdings.remove(job.id).charge, times=-1)
        leaves = self.leaving.pop(job.id, None)
        if leaves is not None:
            self.tree.leave(leaves.charge, times=-1)
            self.tree.hold(leaves.charge, times=-1)

    def _take(self, job: Job, *, times: int) -> None:
        supply, shape = self.cluster.supply, self.requests[job.id].kind.shape
        self.real.take(supply.footprint((*job.placement, *job.releasing), shape=shape), times=times)
        if job.phase is JobPhase.PLACED:
            self.later.take(supply.footprint(job.placement, shape=shape), times=times)


def _is_damaged(job: Job) -> bool:
    """Whether it lacks workers, or leaves for that reason and a place is kept for its return."""
    return job.num_missing > 0 or (bool(job.kept) and job.phase is not JobPhase.WAITING)


def _handed_on(free: Free) -> Free:
    """A copy that takes the counts along: the next snapshot needs them, this one hardly any more."""
    copy = free.copy()
    copy.origin = None
    copy.fits = {key: fit.copied_for(copy) for key, fit in free.fits.items()}
    return copy
