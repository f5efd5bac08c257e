"""Elastic gangs: they shrink to what is wanted, and grow into what nobody who waits could use.

Up to what is wanted, jobs grow in order of turn. Beyond that (`Growth.MOST`) each step goes to the job to
which a device is worth most: by measured speeds, more for jobs with little left to do (`scheduling.speeds`).
A step is worth taking only if it saves more time than the restart takes, unless the job starts or changes in
this plan anyway.
"""

import heapq

from scheduling.backfill import Backfill
from scheduling.joining import Joining
from scheduling.model import Growth, Job, JobId, JobPhase, Order, Placement, QueuePath
from scheduling.ordering import Turn, in_turn
from scheduling.sizes import largest_size, size_up_to
from scheduling.speeds import Rise, expected_ms, rises, weight_of
from scheduling.standing import Standing
from scheduling.supply import Free

Step = tuple[float, int, JobId]  # minus what a device is worth, to which size, whose; smallest first


def shrink_to_wanted(standing: Standing) -> None:
    """Gangs that are larger than they may be by now give their last ranks back."""
    for job in standing.elastic():
        size = len(job.placement)
        if job.phase is JobPhase.PLACED and not job.num_missing and size > job.least_workers:
            smaller = size_up_to(job, min(size, largest_size(job, standing.policy)))
            if 0 < smaller < size:
                standing.resize(job, job.placement[:smaller])


def grow(standing: Standing, backfill: Backfill) -> None:
    """Idle devices go to elastic jobs, running or starting in this plan."""
    growing = Growing(standing, backfill)
    spared = _spare_what_is_awaited(standing) if growing.jobs else []
    growing.to_wanted()
    if standing.policy.growth is Growth.MOST:
        growing.to_most()
    for job in spared:
        standing.drop_keep(job)


def _spare_what_is_awaited(standing: Standing) -> list[Job]:
    """Keeps, while others grow, places for jobs that can start as soon as those who leave anyway are gone."""
    spared: list[Job] = []
    waiting = standing.waiting() if standing.later is not standing.real else []
    for job in sorted(waiting, key=standing.ranking.turn_of):
        if job.id not in standing.keeps and not standing.is_barred(job) and standing.fits_later(job):
            place = standing.place_now(job, standing.later)
            if place is not None:
                standing.keep(job, place.placement)
                spared.append(job)
    return spared


class Growing:
    """The elastic jobs that hold devices, and what they could be."""

    def __init__(self, standing: Standing, backfill: Backfill) -> None:
        self.standing = standing
        self.backfill = backfill
        self.joining = Joining(standing)
        self._firsts = _first_waiting(standing) if standing.policy.order is Order.STRICT_FIFO else {}
        self.jobs = {job.id: job for job in standing.elastic() if self._may_grow(job)}

    def placement(self, job: Job) -> Placement:
        """What the job holds by now."""
        return self.standing.holdings.placement_of(job.id)

    def to_wanted(self) -> None:
        """In order of turn, up to what each user wants."""
        standing = self.standing
        lines: dict[int, list[Job]] = {}
        growing = [job for job in self.jobs.values() if self._lacks_some(job) and self._has_room(job)]
        for job in sorted(growing, key=standing.ranking.turn_of):
            lines.setdefault(standing.queue_of(job), []).append(job)
        order = standing.policy.order
        for job in in_turn(lines, tree=standing.tree, ranking=standing.ranking, order=order):
            if self._has_room(job):
                self._raise(job, size_up_to(job, job.num_workers))

    def to_most(self) -> None:
        """Each step to the job to which it is worth most."""
        steps = [step for job in self.jobs.values() if self._has_room(job) and (step := self.next_step(job))]
        heapq.heapify(steps)
        while steps:
            _, size, name = heapq.heappop(steps)
            job = self.jobs[name]
            if self._has_room(job) and self._raise(job, size, exactly=True) and (step := self.next_step(job)):
                heapq.heappush(steps, step)

    def next_step(self, job: Job) -> Step | None:
        """The next larger size that is worth a restart."""
        for rise in rises(job, self._size(job), largest_size(job, self.standing.policy)):
            if self._is_worth_it(job, rise):
                gain = rise.gain / max(job.accelerators_milli, 1)
                return -weight_of(job, now_ms=self.standing.now_ms) * gain, rise.size, job.id
        return None

    def within_limits(self, job: Job, size: int, most: int) -> int:
        """The largest allowed size up to `most` that all limits leave room for, seen from this one."""
        standing, kind = self.standing, -1
        if job.accelerators_milli:
            kind = standing.supply.type_at(self.placement(job))
        queue, limit_now = standing.queue_of(job), standing.tree.limit_now
        while most > size:
            more = (most - size) * job.accelerators_milli
            if limit_now(queue, more, accelerator_type=kind, user=job.user) is None:
                return most
            most = size_up_to(job, most - 1)
        return size

    def is_changed(self, job: Job) -> bool:
        """Whether the job starts, or restarts anyway, in this plan."""
        return job.id in self.standing.starts or job.id in self.standing.resizes

    def _may_grow(self, job: Job) -> bool:
        """In strict order nobody passes a job that waits in the same queue, by growing either."""
        standing = self.standing
        first = self._firsts.get(job.queue)
        if first is not None and standing.ranking.turn_of(job) > first:
            return False
        if job.id in standing.starts:
            return True
        is_lacking = bool(job.num_missing) and job.id not in standing.resizes
        return job.phase is JobPhase.PLACED and job.id not in standing.evictions and not is_lacking

    def _size(self, job: Job) -> int:
        return len(self.placement(job)) if self.is_changed(job) else len(job.placement)

    def _lacks_some(self, job: Job) -> bool:
        size = self._size(job)
        return size < job.num_workers and size < size_up_to(job, job.num_workers)

    def _has_room(self, job: Job) -> bool:
        """Whoever joins lies in the same domain as the first worker."""
        start = self.standing.starts.get(job.id)
        placement = job.placement if start is None else start.placement
        return self.joining.has_room(job, placement, self._free(job))

    def _free(self, job: Job) -> Free:
        return self.backfill.free_for(job)

    def _raise(self, job: Job, wanted: int, *, exactly: bool = False) -> bool:
        """Grows the job to the size wanted, or (not exactly) as near to it as can be."""
        placement = self.placement(job)
        most = self.within_limits(job, len(placement), wanted)
        if most <= len(placement) or (exactly and most < wanted):
            return False
        found = self.joining.find(job, placement, self._free(job), at_most=most - len(placement))
        size = size_up_to(job, len(placement) + len(found))
        if size <= len(placement) or (exactly and size < wanted):
            return False
        joiners = self.joining.whole_groups(job, found)[: size - len(placement)]
        if not self.backfill.allows_growth(job, joiners):
            return False
        self.standing.resize(job, placement + joiners)
        self.backfill.grew(job, joiners)
        return True

    def _is_worth_it(self, job: Job, rise: Rise) -> bool:
        """Whether a restart takes less time than the higher speed saves."""
        if not job.restart_cost_ms or self.is_changed(job):
            return True
        left_ms = expected_ms(job, rise.slower, now_ms=self.standing.now_ms)
        return left_ms * (1 - rise.slower / rise.faster) > job.restart_cost_ms


def _first_waiting(standing: Standing) -> dict[QueuePath, Turn]:
    """The turn of the first job of each queue that waits and can start some day."""
    firsts: dict[QueuePath, Turn] = {}
    for job in standing.waiting():
        if not standing.can_never_start(job):
            turn = standing.ranking.turn_of(job)
            firsts[job.queue] = min(turn, firsts.get(job.queue, turn))
    return firsts
