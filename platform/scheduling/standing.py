"""How things stand while a plan is made: what is free, held, kept and decided so far. Changed only by its
verbs.

What is free has two accounts. `real`: less what running and leaving jobs hold. `later`: less what stays when
the leaving jobs are gone, and less what is kept for waiting ones. A start must fit in both, so `now` is the
smaller. As long as nothing leaves and nothing is kept, the three are one.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from scheduling.amounts import Kind, Request, kind_of
from scheduling.books import Books
from scheduling.holdings import Holding, give_back
from scheduling.model import (
    Evict,
    EvictionKind,
    Job,
    JobId,
    JobPhase,
    Packing,
    Placement,
    Policy,
    Resize,
)
from scheduling.ordering import Ranking
from scheduling.placement import Place
from scheduling.placements import without
from scheduling.shares import Charge
from scheduling.snapshot import Snapshot
from scheduling.supply import BoolArray, Footprint, Free, IntArray

NUM_SINGLY = 4  # so few evictions are made one by one


class Standing:
    """The state of one `decide`. Every verb keeps all accounts in step and counts in `version`; `eased`
    counts those after which a job that could not start before may be able to, `crossed` the starts with which
    a queue passed its guarantee, so that more may be reclaimed from it.
    """

    def __init__(self, snapshot: Snapshot, *, now_ms: int, policy: Policy) -> None:
        books: Books = snapshot.books
        self.policy = policy
        self.now_ms = now_ms
        self.books = books
        self.jobs = books.jobs
        self.requests = books.requests
        self.asks = books.asks
        self.supply = books.cluster.supply
        self.topology = books.cluster.topology
        self.empty = books.cluster.empty
        self.placer = books.cluster.placer(policy.packing)
        if policy.packing is Packing.FRAGMENTATION:
            self.placer = self.placer.expecting(books.mix)
        self.ranking = Ranking(policy, now_ms=now_ms)
        self.tree = books.tree.copy()
        self.holdings = books.holdings.at(now_ms, self.ranking)
        self.starts: dict[JobId, Place] = {}
        self.evictions: dict[JobId, Evict] = {}
        self.keeps: dict[JobId, Placement] = {}
        self.gave_way: set[JobId] = set()
        self.resizes: dict[JobId, Resize] = {}
        self.repaired: set[JobId] = set()
        self.version = 0
        self.eased = 0
        self.crossed = 0
        self._most_now: dict[Kind, int] = {}
        self._most_later: dict[Kind, int] = {}
        self._in_array = _count_arrays(books)
        self.real: Free = books.real.copy()
        self.later = self.now = self.real
        if books.leaving:
            self.later = books.later.copy()
            self.now = books.real.copy()

    def lines(self) -> dict[int, list[Job]]:
        """Who waits in each queue, in order of turn."""
        lines = self.books.lines
        if not self.ranking.is_plain:
            lines = {queue: sorted(line, key=self.ranking.turn_of) for queue, line in lines.items()}
        return {queue: [job for job in line if job.id not in self.starts] for queue, line in lines.items()}

    def waiting(self) -> list[Job]:
        """Jobs that will not hold devices when this plan has been carried out."""
        return [job for line in self.books.lines.values() for job in line if job.id not in self.starts]

    def elastic(self) -> Iterable[Job]:
        """All elastic jobs, waiting or not, in no order."""
        return self.books.elastic.values()

    def damaged(self) -> Iterable[Job]:
        """Gangs that lack workers, and those that leave for that reason, in no order."""
        return self.books.damaged.values()

    def queue_of(self, job: Job) -> int:
        """The number of the job's queue in the tree."""
        return self.tree.number[job.queue]

    def footprint(self, job: Job, placement: Placement) -> Footprint:
        """What the placement takes for this job."""
        return self.supply.footprint(placement, shape=self.requests[job.id].kind.shape)

    def can_never_start(self, job: Job) -> bool:
        """Whether the job fits in no place of the empty, healthy cluster, or alone exceeds a limit."""
        request, most_ever = self.requests[job.id], self.books.cluster.most_ever
        if request.kind not in most_ever:
            most_ever[request.kind] = self.placer.most_workers(self.empty, request.kind)
        too_large = most_ever[request.kind] < request.num_workers
        hit = self.tree.beyond_limit(self.queue_of(job), job.total_milli, types=job.types)
        return too_large or hit is not None

    def is_barred(self, job: Job) -> bool:
        """Whether the job waits for another to end, or as many of its array as may run hold devices."""
        if job.depends_on and not self.jobs.keys().isdisjoint(job.depends_on):
            return True
        others = self._in_array[job.array] - (job.id in self.keeps)
        return job.array_cap is not None and others >= job.array_cap

    def place_now(self, job: Job, free: Free) -> Place | None:
        """Where the job can start now on this account, limits for types included."""
        blocked = self.tree.blocked_types(self.queue_of(job), job.total_milli)
        return self.placer.place(free, self.requests[job.id], blocked=blocked)

    def fits_now(self, request: Request) -> bool:
        """Whether the gang has a place on what is free now."""
        return self._fits(self.now, self._most_now, request)

    def fits_later(self, job: Job) -> bool:
        """Whether the job can start when the leaving jobs are gone, limits and placement both."""
        if self.tree.limits_later(self.queue_of(job), job.total_milli) or not self.fits_types_later(job):
            return False
        return self._fits(self.later, self._most_later, self.requests[job.id])

    def fits_types_later(self, job: Job) -> bool:
        """Whether limits of its user and of some type that it takes have room when the leaving are gone."""
        if not job.total_milli:
            return True
        taken = [
            number for number, name in enumerate(self.supply.types) if not job.types or name in job.types
        ]
        queue, amount = self.queue_of(job), job.total_milli
        return any(self.tree.allows_later(Charge(queue, amount, number, job.user)) for number in taken)

    def may_claim(self, job: Job, placement: Placement, victims: Iterable[Holding]) -> bool:
        """Whether limits of its user and of the type leave room for the job there when these are gone too."""
        gone = [holding.charge for holding in victims]
        return not job.total_milli or self.tree.allows_later(self._claim_of(job, placement), gone)

    def has_room_later(self, job: Job) -> bool:
        """Whether one worker of the job, at least, fits beside all that will be held and is kept."""
        kind = self.requests[job.id].kind
        one = kind_of(kind.shape, kind.types, kind.required, kind.selectors)
        return self._fits(self.later, self._most_later, Request(one, 1, ()))

    def can_start_at(self, job: Job, place: Place) -> bool:
        """Whether the job can start now on just these devices, limits included."""
        kind = self.supply.type_at(place.placement) if job.accelerators_milli else -1
        queue = self.queue_of(job)
        if self.tree.limit_now(queue, job.total_milli, accelerator_type=kind, user=job.user):
            return False
        return self.now.has(self.footprint(job, place.placement))

    def start(self, job: Job, place: Place) -> None:
        """The job starts here in this plan."""
        self.starts[job.id] = place
        kind, final = self.supply.type_at(place.placement), job.id in self.gave_way
        holding = Holding(job, place.placement, self.queue_of(job), kind, is_new=True, is_final=final)
        self.holdings.add(holding)
        self._hold(holding.charge)
        self._in_array[job.array] += 1
        footprint = self.footprint(job, place.placement)
        self.real.take(footprint)
        if self.later is not self.real:
            self.later.take(footprint)
        self._settle(footprint)

    def take_back(self, job: Job) -> None:
        """The job does not start in this plan after all. It waits again; its next start in it is final."""
        del self.starts[job.id]
        self.gave_way.add(job.id)
        holding = self.holdings.remove(job.id)
        self.tree.hold(holding.charge, times=-1)
        self._in_array[job.array] -= 1
        footprint = self.footprint(job, holding.placement)
        self.real.give(footprint)
        if self.later is not self.real:
            self.later.give(footprint)
        self._settle(footprint, frees=True)

    def evict(self, victim: Job, *, beneficiary: Job, kind: EvictionKind | None = None) -> None:
        """The victim is told to leave."""
        kind = kind or (EvictionKind.PREEMPT if victim.queue == beneficiary.queue else EvictionKind.RECLAIM)
        self.evictions[victim.id] = Evict(job=victim.id, beneficiary=beneficiary.id, kind=kind)
        self.resizes.pop(victim.id, None)
        self._release(self.holdings.remove(victim.id))

    def reinstate(self, victim: Job) -> bool:
        """A victim goes on after all, if nobody else is to have its devices; tells whether it does."""
        holding = Holding(
            victim, victim.placement, self.queue_of(victim), self.supply.type_at(victim.placement)
        )
        footprint = self.footprint(victim, victim.placement)
        if not self.later.has(footprint):
            return False
        del self.evictions[victim.id]
        self.holdings.add(holding)
        self.tree.leave(holding.charge, times=-1)
        self.later.take(footprint)
        self._settle(footprint)
        return True

    def evict_all(self, victims: list[Job], *, beneficiary: Job) -> None:
        """All of them are told to leave; for many, what they hold is released in one go."""
        if len(victims) <= NUM_SINGLY or any(self._joins(victim) for victim in victims):
            for victim in victims:
                self.evict(victim, beneficiary=beneficiary)
            return
        self._part_accounts()
        slots = np.zeros(len(self.holdings.slots), dtype=np.bool_)
        for victim in victims:
            slots[list(self.holdings.slots_with(self.holdings.slot_of(victim.id)))] = True
            kind = EvictionKind.PREEMPT if victim.queue == beneficiary.queue else EvictionKind.RECLAIM
            self.evictions[victim.id] = Evict(job=victim.id, beneficiary=beneficiary.id, kind=kind)
            self.resizes.pop(victim.id, None)
            self.tree.leave(self.holdings.remove(victim.id).charge)
        nodes = give_back(self.later, self.holdings.columns(), slots)
        self._settle_on(nodes, frees=True)

    def shrink(self, job: Job, pieces: Iterable[int], *, beneficiary: Job) -> None:
        """These pieces of a running job's surplus (by slot) are told to leave."""
        for slot in pieces:
            self._release(self.holdings.remove_piece(slot))
        known = self.resizes.get(job.id)
        first = beneficiary.id if known is None or known.beneficiary is None else known.beneficiary
        placement = self.holdings.placement_of(job.id)
        self.resizes[job.id] = Resize(job=job.id, placement=placement, beneficiary=first)

    def resize(self, job: Job, placement: Placement) -> None:
        """The gang starts or goes on with these workers: those not among them leave, new ones join."""
        before = self.holdings.remove(job.id)
        self.holdings.add(replace(before, placement=placement))
        leavers = without(before.placement, placement)
        if leavers:
            self._release(replace(before, placement=leavers))
        self._join(replace(before, placement=without(placement, before.placement)))
        if job.id in self.starts:
            self.starts[job.id] = replace(self.starts[job.id], placement=placement)
            return
        known = self.resizes.get(job.id)
        beneficiary = None if known is None else known.beneficiary
        self.resizes[job.id] = Resize(job=job.id, placement=placement, beneficiary=beneficiary)

    def close(self, nodes: BoolArray) -> None:
        """These nodes may not be used in this plan."""
        for free in {id(each): each for each in (self.real, self.later, self.now)}.values():
            free.open = free.open & ~nodes
            free.recount(np.flatnonzero(nodes))

    def keep(self, job: Job, placement: Placement) -> None:
        """These devices are kept for the job."""
        self._part_accounts()
        self.keeps[job.id] = placement
        self._in_array[job.array] += job.phase is JobPhase.WAITING
        self.tree.claim(self._claim_of(job, placement))
        footprint = self.footprint(job, placement)
        self.later.take(footprint)
        self._settle(footprint)

    def drop_keep(self, job: Job) -> None:
        """Nothing is kept for the job any longer."""
        placement = self.keeps.pop(job.id)
        self._in_array[job.array] -= job.phase is JobPhase.WAITING
        self.tree.claim(self._claim_of(job, placement), times=-1)
        footprint = self.footprint(job, placement)
        self.later.give(footprint)
        self._settle(footprint, frees=True)

    def _claim_of(self, job: Job, placement: Placement) -> Charge:
        amount = len(placement) * job.accelerators_milli
        return Charge(self.queue_of(job), amount, self.supply.type_at(placement), job.user)

    def _join(self, joining: Holding) -> None:
        self.tree.hold(joining.charge)
        footprint = self.footprint(joining.job, joining.placement)
        self.real.take(footprint)
        if self.later is not self.real:
            self.later.take(footprint)
        self._settle(footprint)

    def _release(self, holding: Holding) -> None:
        """Workers are told to leave. One that would only have joined in this plan is simply not sent."""
        self._part_accounts()
        fresh = without(holding.placement, holding.job.placement)
        if fresh:
            unsent = replace(holding, placement=fresh)
            self.tree.hold(unsent.charge, times=-1)
            self.real.give(self.footprint(holding.job, fresh))
            holding = replace(holding, placement=without(holding.placement, fresh))
            self.later.give(self.footprint(holding.job, fresh))
            self._settle(self.footprint(holding.job, fresh), frees=True)
        self.tree.leave(holding.charge)
        footprint = self.footprint(holding.job, holding.placement)
        self.later.give(footprint)
        self._settle(footprint, frees=True)

    def _hold(self, charge: Charge) -> None:
        within = [q for q in self.tree.chains[charge.queue] if not self.tree.above_guarantee(q)]
        self.tree.hold(charge)
        self.crossed += any(self.tree.above_guarantee(q) for q in within)

    def _part_accounts(self) -> None:
        """From here on it makes a difference what is free now and what will be."""
        if self.later is self.real:
            self.later, self.now = self.real.copy(), self.real.copy()

    def _fits(self, free: Free, most: dict[Kind, int], request: Request) -> bool:
        """What held the most when last counted cannot hold more as long as things are only taken."""
        known = most.get(request.kind)
        if known is None or known >= request.num_workers:
            known = most[request.kind] = self.placer.most_workers(free, request.kind)
        return known >= request.num_workers

    def _joins(self, job: Job) -> bool:
        """Whether the job would get workers in this plan."""
        return job.id in self.resizes and not set(self.resizes[job.id].placement) <= set(job.placement)

    def _settle(self, footprint: Footprint, *, frees: bool = False) -> None:
        self._settle_on(footprint.nodes, frees=frees)

    def _settle_on(self, nodes: IntArray, *, frees: bool = False) -> None:
        self.version += 1
        if self.now is not self.real:
            self.now.become_least(self.real, self.later, nodes=nodes)
        if frees:
            self.eased += 1
            self._most_now.clear()
            self._most_later.clear()


def _count_arrays(books: Books) -> Counter[str]:
    """How many jobs of each array hold devices. Those without a cap need not be counted."""
    capped = (job for job in books.jobs.values() if job.array_cap is not None)
    return Counter(job.array for job in capped if job.phase is not JobPhase.WAITING)
