"""Repair: members that running gangs have lost are replaced before any newcomer starts.

In turn: by what is free beside the survivors; by what is being freed already; by eviction, if the gang has
the right as if it were waiting. Otherwise an elastic gang goes on with its survivors, and a rigid one (or one
with too few left) is withdrawn: it leaves whole, and competes anew for a place that may be anywhere. It holds
nothing while it waits for replacements either: all or none. Its whole place is kept for it then.
"""

from dataclasses import replace

from scheduling.amounts import Request, kind_of
from scheduling.backfill import Backfill
from scheduling.joining import Joining
from scheduling.keeping import is_whole
from scheduling.model import EvictionKind, Job, JobPhase, Placement, Repair, Resize
from scheduling.preemption import Claims, carry_out
from scheduling.shares import Charge
from scheduling.sizes import largest_size, size_up_to
from scheduling.standing import Standing
from scheduling.supply import Free


def repair(standing: Standing, backfill: Backfill) -> None:
    """Deals with every running gang that lacks workers, in order of turn."""
    damaged = sorted(standing.damaged(), key=standing.ranking.turn_of)
    if not damaged:
        return
    repairs = _Repairs(standing, backfill)
    for job in damaged:
        repairs.renew_keep(job)
    for job in damaged:
        is_told_to_leave = job.id in standing.evictions  # as a window begins
        if job.phase is JobPhase.PLACED and job.num_missing and not is_told_to_leave:
            repairs.repair(job)


def resizes_and_repairs(standing: Standing) -> tuple[tuple[Resize, ...], tuple[Repair, ...]]:
    """Changes of running gangs, by id. Whoever was repaired and lost none of its survivors since is a repair,
    even if it grew as well.
    """
    resizes, repairs = [], []
    for name, change in sorted(standing.resizes.items()):
        if name in standing.repaired and set(standing.jobs[name].placement) <= set(change.placement):
            repairs.append(Repair(job=name, placement=change.placement))
        else:
            resizes.append(change)
    return tuple(resizes), tuple(repairs)


class _Repairs:
    """One plan's repairs."""

    def __init__(self, standing: Standing, backfill: Backfill) -> None:
        self._standing = standing
        self._backfill = backfill
        self._joining = Joining(standing)
        self._claims = Claims(standing)

    def renew_keep(self, job: Job) -> None:
        """Goes on keeping what is being freed for it: replacements, or a place for a gang that leaves."""
        standing = self._standing
        if not job.kept or not all(is_whole(standing, job, worker) for worker in job.kept):
            return
        others = job.placement if job.phase is JobPhase.PLACED else ()
        is_right = len(job.kept) == (self._num_wanted(job) if others else job.least_workers)
        is_free = standing.later.has(standing.footprint(job, job.kept))
        is_open = self._backfill.is_open(job, job.kept)
        if is_right and is_free and is_open and self._is_allowed(job, others + job.kept):
            standing.keep(job, job.kept)

    def repair(self, job: Job) -> None:
        """Makes the gang whole now or later, or smaller, or takes it off."""
        num_wanted = self._num_wanted(job)
        is_less_wanted = num_wanted <= 0
        if is_less_wanted or not (self._replace(job, num_wanted) or self._wait(job, num_wanted)):
            self._go_on(job)
        elif job.id in self._standing.keeps and len(job.placement) < job.least_workers:
            self._withdraw_beside(job)

    def _num_wanted(self, job: Job) -> int:
        most = min(len(job.placement) + job.num_missing, largest_size(job, self._standing.policy))
        return size_up_to(job, most) - len(job.placement)

    def _replace(self, job: Job, num_wanted: int) -> bool:
        """Replacements from what is free now: those kept for it if they are, else any."""
        standing = self._standing
        kept = standing.keeps.get(job.id, ())
        if kept:
            standing.drop_keep(job)
        choices = (kept, self._beside(job, num_wanted, self._backfill.open_for(job)))
        found = next((joiners for joiners in choices if joiners and self._may_join(job, joiners)), ())
        if found:
            standing.repaired.add(job.id)
            standing.resize(job, self._joining.whole_groups(job, job.placement + found))
        elif kept:
            standing.keep(job, kept)
        return bool(found)

    def _may_join(self, job: Job, joiners: Placement) -> bool:
        standing, amount = self._standing, len(joiners) * job.accelerators_milli
        kind = standing.supply.type_at(joiners) if job.accelerators_milli else -1
        queue = standing.queue_of(job)
        if standing.tree.limit_now(queue, amount, accelerator_type=kind, user=job.user):
            return False
        if not self._backfill.is_open(job, joiners):
            return False
        return standing.now.has(standing.footprint(job, joiners))

    def _beside(self, job: Job, num_wanted: int, free: Free) -> Placement:
        """So many workers beside the survivors; with none left, anywhere."""
        if not job.placement:
            request = replace(self._standing.requests[job.id], num_workers=num_wanted)
            place = self._standing.placer.place(free, request)
            return () if place is None else place.placement
        found = self._joining.find(job, job.placement, free, at_most=num_wanted)
        return found if len(found) == num_wanted else ()

    def _wait(self, job: Job, num_wanted: int) -> bool:
        """Keeps replacements for the gang that are being freed, or can be by right. A gang that would have to
        leave meanwhile could not come back to survivors' places that take nobody new.
        """
        standing = self._standing
        if len(job.placement) < job.least_workers and not all(
            is_whole(standing, job, worker) for worker in job.placement
        ):
            return False
        if job.id in standing.keeps:
            return True
        if standing.later is not standing.real and not self._is_over_limits(job, num_wanted):
            found = self._beside(job, num_wanted, standing.later)
            if found and self._backfill.is_open(job, found):
                standing.keep(job, found)
                return True
        return self._take(job, num_wanted)

    def _is_over_limits(self, job: Job, num_workers: int) -> bool:
        standing, amount = self._standing, num_workers * job.accelerators_milli
        queue = standing.queue_of(job)
        kind = standing.supply.type_at(job.placement) if amount else -1
        is_allowed = standing.tree.allows_later(Charge(queue, amount, kind, job.user))
        return not is_allowed or bool(standing.tree.limits_later(queue, amount))

    def _take(self, job: Job, num_wanted: int) -> bool:
        """By eviction, as if so many workers waited. Not for tensor groups that lost some of their members:
        which devices would do depends on the group.
        """
        standing = self._standing
        kind = standing.requests[job.id].kind
        if kind.group_workers > 1 or not job.placement:
            return False
        kind = kind_of(kind.shape, self._types_of(job), kind.required, kind.selectors)
        ask = replace(job, num_workers=num_wanted, min_workers=None, max_workers=None)
        claim = self._claims.find(
            ask, request=Request(kind, num_wanted, ()), inside=self._joining.nodes_around(job, job.placement)
        )
        if claim is None or not self._is_allowed(job, job.placement + claim.place.placement):
            return False
        if not self._backfill.is_open(job, claim.place.placement):
            return False
        carry_out(standing, claim, beneficiary=job)
        standing.keep(job, claim.place.placement)
        return self._replace(job, num_wanted) or True

    def _types_of(self, job: Job) -> tuple[str, ...]:
        number = self._standing.supply.type_at(job.placement)
        is_typed = self._standing.requests[job.id].kind.is_typed and number >= 0
        return (self._standing.supply.types[number],) if is_typed else ()

    def _is_allowed(self, job: Job, placement: Placement) -> bool:
        standing = self._standing
        known = tuple(worker for worker in placement if worker.node in standing.supply.index)
        return standing.placer.type_on(known, standing.requests[job.id].kind) is not None

    def _withdraw_beside(self, job: Job) -> None:
        """The survivors leave, and all devices are kept until the replacements are free."""
        standing = self._standing
        replacements = standing.keeps[job.id]
        standing.drop_keep(job)
        standing.evict(job, beneficiary=job, kind=EvictionKind.INCOMPLETE)
        standing.keep(job, self._joining.whole_groups(job, job.placement + replacements))

    def _go_on(self, job: Job) -> None:
        """With the survivors if these are enough; else the gang leaves, and if it has another place by then,
        that is kept for it.
        """
        standing = self._standing
        survivors = self._joining.whole_groups(job, job.placement)
        most = min(len(survivors), largest_size(job, standing.policy))
        size = size_up_to(job, most) if job.is_elastic else 0
        if job.id in standing.keeps:
            standing.drop_keep(job)
        if size:
            standing.resize(job, survivors[:size])
            return
        standing.evict(job, beneficiary=job, kind=EvictionKind.INCOMPLETE)
        if not self._is_over_limits(job, job.least_workers):
            place = standing.placer.place(standing.later, standing.requests[job.id])
            if place is not None and self._backfill.is_open(job, place.placement):
                standing.keep(job, place.placement)
