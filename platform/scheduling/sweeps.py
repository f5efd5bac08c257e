"""Sweeps over the waiting jobs: each in turn starts if it can, else takes what it has a right to.

What failed is remembered with what it failed on: as long as nothing was freed, what is free only shrinks, so
the same ask fails again without being tried.
"""

from scheduling.amounts import Kind
from scheduling.model import Job, JobId, Order, QueuePath
from scheduling.ordering import in_turn
from scheduling.preemption import Claims
from scheduling.standing import Ask, Standing

class Sweeps:
    """One plan's sweeps. `ahead`: behind which job each one stands that strict order blocks."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._claims = Claims(standing)
        self._never: dict[Ask, bool] = {}
        self._failed: dict[Ask, int] = {}  # how often things had eased when it could not start
        self._empty_handed: dict[tuple[Ask, int], int] = {}  # the version at which it had nothing to take
        self._hopeless: dict[tuple[QueuePath, int, Kind], tuple[int, int]] = {}
        self.ahead: dict[JobId, JobId] = {}

    def sweep(self) -> bool:
        """Considers every waiting job once; tells whether anything changed."""
        standing, before = self._standing, self._standing.version
        order, ranking = standing.policy.order, standing.ranking
        is_strict = order is Order.STRICT_FIFO
        self.ahead = {}
        first_waiting: dict[QueuePath, JobId] = {}
        for job in in_turn(standing.lines(), tree=standing.tree, ranking=ranking, order=order):
            if is_strict and job.queue in first_waiting:
                self.ahead[job.id] = first_waiting[job.queue]
            elif not self._is_served(job) and is_strict:
                first_waiting[job.queue] = job.id
        return standing.version != before

    def _is_served(self, job: Job) -> bool:
        """Starts the job or claims devices for it; tells whether the jobs behind need not wait for it."""
        standing = self._standing
        ask = standing.ask_of(job)
        if self._can_never_start(job, ask) or standing.is_barred(job):  # it would stand in everybody's way
            return True
        if job.id in standing.keeps:
            return False
        if self._failed.get(ask) != standing.eased:
            if self._start(job):
                return True
            self._failed[ask] = standing.eased
        claims = (ask, standing.ranking.rank_of(job))
        if self._empty_handed.get(claims) == standing.version and not job.kept:
            return False
        before = standing.version
        starts = self._claim(job)
        if standing.version == before:
            self._empty_handed[claims] = before
        return starts

    def _can_never_start(self, job: Job, ask: Ask) -> bool:
        never = self._never.get(ask)
        if never is None:
            never = self._never[ask] = self._standing.can_never_start(job)
        return never

    def _start(self, job: Job) -> bool:
        standing = self._standing
        queue = standing.queue_of(job)
        if standing.tree.limit_now(queue, job.total_milli, user=job.user):
            return False
        if not standing.fits_now(standing.requests[job.id]):
            return False
        place = standing.place_now(job, standing.now)
        if place is None:
            return False
        standing.start(job, place)
        return True

    def _claim(self, job: Job) -> bool:
        """Takes what the job has a right to, and tells whether it starts at once."""
        standing = self._standing
        if standing.later is not standing.real and standing.fits_later(job):  # no victim is needed
            self._keep_again(job)
            return False
        if not self._claims.may_take(job) or self._is_hopeless(job):
            return False
        claim = self._claims.find(job)
        if claim is None:
            self._hopeless[self._likeness(job)] = (standing.version, job.least_workers)
            return False
        for victim in claim.victims:
            if victim.id in standing.starts:
                standing.take_back(victim)
            else:
                standing.evict(victim, beneficiary=job)
        for name, pieces in claim.pieces.items():
            standing.shrink(standing.jobs[name], pieces, beneficiary=job)
        if standing.can_start_at(job, claim.place):
            standing.start(job, claim.place)
            return True
        standing.keep(job, claim.place.placement)
        return False

    def _keep_again(self, job: Job) -> None:
        """What was kept became impossible, and its victims are still leaving: the job keeps other devices."""
        standing = self._standing
        place = standing.place_now(job, standing.later) if job.kept else None
        if place is not None:
            standing.keep(job, place.placement)

    def _is_hopeless(self, job: Job) -> bool:
        """Whether a search failed for a job like this, not larger, and nothing has changed since."""
        version, num_workers = self._hopeless.get(self._likeness(job), (-1, 0))
        return version == self._standing.version and job.least_workers >= num_workers

    def _likeness(self, job: Job) -> tuple[QueuePath, int, Kind]:
        standing = self._standing
        return job.queue, standing.ranking.rank_of(job), standing.requests[job.id].kind
