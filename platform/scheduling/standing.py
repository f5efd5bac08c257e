"""How things stand while a plan is made: what is free, held, kept and decided so far. Changed only by its
verbs.

What is free has two accounts. `real`: less what running and leaving jobs hold. `later`: less what stays when
the leaving jobs are gone, and less what is kept for waiting ones. A start must fit in both, so `now` is the
smaller.
"""

from scheduling.amounts import Kind, Request, request_of
from scheduling.holdings import Holding, Holdings, give_back
from scheduling.model import (
    Evict,
    EvictionKind,
    Job,
    JobId,
    JobPhase,
    Placement,
    Policy,
)
from scheduling.placement import Place, Placer
from scheduling.shares import QueueTree
from scheduling.snapshot import Snapshot
from scheduling.supply import Footprint, Free, Supply
from scheduling.topology import Topology


class Standing:
    """The state of one `decide`. Every verb keeps all accounts in step and counts in `version`."""

    def __init__(self, snapshot: Snapshot, *, now_ms: int, policy: Policy) -> None:
        self.policy = policy
        self.now_ms = now_ms
        self.jobs = {job.id: job for job in snapshot.jobs}
        self.requests = {job.id: request_of(job) for job in snapshot.jobs}
        self.supply = Supply(snapshot.nodes, levels=snapshot.levels)
        self.topology = Topology(self.supply)
        self.placer = Placer(self.supply, self.topology, packing=policy.packing)
        self.tree = QueueTree(snapshot.queues, named=[job.queue for job in snapshot.jobs])
        self.holdings = Holdings(self.supply, now_ms=now_ms)
        self.starts: dict[JobId, Place] = {}
        self.evictions: dict[JobId, Evict] = {}
        self.keeps: dict[JobId, Placement] = {}
        self.gave_way: set[JobId] = set()
        self.version = 0
        self._most_ever: dict[Kind, int] = {}
        self._most_now: dict[Kind, int] = {}
        self._most_later: dict[Kind, int] = {}
        self.empty = self.supply.capacity(only_usable=False)
        self._book_holdings()

    def waiting(self) -> list[Job]:
        """Jobs that will not hold devices when this plan has been carried out."""
        waiting = (job for job in self.jobs.values() if job.phase is JobPhase.WAITING)
        return [job for job in waiting if job.id not in self.starts]

    def queue_of(self, job: Job) -> int:
        """The number of the job's queue in the tree."""
        return self.tree.number[job.queue]

    def footprint(self, job: Job, placement: Placement) -> Footprint:
        """What the placement takes for this job."""
        return self.supply.footprint(placement, shape=self.requests[job.id].kind.shape)

    def can_never_start(self, job: Job) -> bool:
        """Whether the job fits in no place of the empty, healthy cluster, or alone exceeds a limit."""
        request = self.requests[job.id]
        if request.kind not in self._most_ever:
            self._most_ever[request.kind] = self.placer.most_workers(self.empty, request.kind)
        too_large = self._most_ever[request.kind] < request.num_workers
        return too_large or self.tree.beyond_limit(self.queue_of(job), job.total_milli) is not None

    def fits_now(self, request: Request) -> bool:
        """Whether the gang has a place on what is free now."""
        return self._fits(self.now, self._most_now, request)

    def fits_later(self, job: Job) -> bool:
        """Whether the job can start when the leaving jobs are gone, limits and placement both."""
        request = self.requests[job.id]
        is_blocked = bool(self.tree.limits_later(self.queue_of(job), job.total_milli))
        return not is_blocked and self._fits(self.later, self._most_later, request)

    def can_start_at(self, job: Job, placement: Placement) -> bool:
        """Whether the job can start now on just these devices, limits included."""
        if self.tree.limit_now(self.queue_of(job), job.total_milli):
            return False
        return self.now.has(self.footprint(job, placement))

    def start(self, job: Job, place: Place) -> None:
        """The job starts here in this plan."""
        self.starts[job.id] = place
        final = job.id in self.gave_way
        holding = Holding(job, place.placement, self.queue_of(job), is_new=True, is_final=final)
        self.holdings.add(holding)
        self.tree.hold(holding.queue, holding.amount_milli)
        footprint = self.footprint(job, place.placement)
        self.real.take(footprint)
        self.later.take(footprint)
        self._settle(footprint)

    def take_back(self, job: Job) -> None:
        """The job does not start in this plan after all. It waits again; its next start in it is final."""
        del self.starts[job.id]
        self.gave_way.add(job.id)
        holding = self.holdings.remove(job.id)
        self.tree.hold(holding.queue, -holding.amount_milli)
        footprint = self.footprint(job, holding.placement)
        self.real.give(footprint)
        self.later.give(footprint)
        self._settle(footprint, frees=True)

    def evict(self, victim: Job, *, beneficiary: Job) -> None:
        """The victim is told to leave."""
        kind = EvictionKind.PREEMPT if victim.queue == beneficiary.queue else EvictionKind.RECLAIM
        self.evictions[victim.id] = Evict(job=victim.id, beneficiary=beneficiary.id, kind=kind)
        holding = self.holdings.remove(victim.id)
        self.tree.leave(holding.queue, holding.amount_milli)
        footprint = self.footprint(victim, holding.placement)
        self.later.give(footprint)
        self._settle(footprint, frees=True)

    def keep(self, job: Job, placement: Placement) -> None:
        """These devices are kept for the job."""
        self.keeps[job.id] = placement
        self.tree.claim(self.queue_of(job), job.total_milli)
        footprint = self.footprint(job, placement)
        self.later.take(footprint)
        self._settle(footprint)

    def drop_keep(self, job: Job) -> None:
        """Nothing is kept for the job any longer."""
        placement = self.keeps.pop(job.id)
        self.tree.claim(self.queue_of(job), -job.total_milli)
        footprint = self.footprint(job, placement)
        self.later.give(footprint)
        self._settle(footprint, frees=True)

    def _book_holdings(self) -> None:
        leaving = []
        for job in self.jobs.values():
            if job.phase is JobPhase.WAITING:
                continue
            holding = Holding(job, job.placement, self.queue_of(job))
            self.tree.hold(holding.queue, holding.amount_milli)
            if job.phase is JobPhase.PLACED:
                self.holdings.add(holding)
            else:
                leaving.append(holding)
        self.real = self.supply.capacity(only_usable=True)
        give_back(self.real, self.holdings.columns(), self.holdings.active(), times=-1)
        self.later = self.real.copy()
        for holding in leaving:
            self.tree.leave(holding.queue, holding.amount_milli)
            self.real.take(self.footprint(holding.job, holding.placement))
        self.now: Free = self.real.copy()

    def _fits(self, free: Free, most: dict[Kind, int], request: Request) -> bool:
        """What held the most when last counted cannot hold more as long as things are only taken."""
        if most.get(request.kind, request.num_workers) >= request.num_workers:
            most[request.kind] = self.placer.most_workers(free, request.kind)
        return most[request.kind] >= request.num_workers

    def _settle(self, footprint: Footprint, *, frees: bool = False) -> None:
        self.now.become_least(self.real, self.later, nodes=footprint.nodes)
        self.version += 1
        if frees:
            self._most_now.clear()
            self._most_later.clear()
