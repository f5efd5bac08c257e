"""Sweeps over the waiting jobs: each in turn starts if it can, else takes what it has a right to.

What failed is remembered with what it failed on: as long as nothing was freed, what is free only shrinks, so
the same ask fails again without being tried.
"""

from scheduling.amounts import Ask, Kind
from scheduling.backfill import Backfill, Met
from scheduling.model import Job, JobId, Order, QueuePath
from scheduling.ordering import in_turn
from scheduling.preemption import Claim, Claims, carry_out
from scheduling.standing import Standing
from scheduling.supply import Free


class Sweeps:
    """One plan's sweeps. `ahead`: behind which job each one stands that strict order blocks."""

    def __init__(self, standing: Standing, backfill: Backfill) -> None:
        self._standing = standing
        self._backfill = backfill
        self._claims = Claims(standing)
        self.never: dict[Ask, bool] = {}  # what was asked for, and whether it can never start
        self._failed: dict[Ask, int] = {}  # how often things had eased when it could not start
        self._held_up: dict[tuple[Ask, Met], tuple[int, int]] = {}  # the same, and how often was reserved
        self._empty_handed: dict[Ask, tuple[int, int]] = {}  # version, and rank of who found nothing to take
        self._hopeless: dict[tuple[QueuePath, int, Kind], tuple[int, int]] = {}
        self._reserved_enough = False
        self._counts_on_leaving = False
        self.ahead: dict[JobId, JobId] = {}
        self.turns: list[Job] = []  # everybody, in the order of the last sweep

    def sweep(self) -> bool:
        """Considers every waiting job once; tells whether another sweep may find more.

        It does not if all that happened were starts: these only take. Unless a queue came into reach of those
        who reclaim, somebody who counted on what is being freed may have lost it, or there are reservations:
        whose turn it is to have one depends on the shares, which starts change.
        """
        standing, before = self._standing, self._standing.version
        eased = standing.eased + standing.crossed
        order, ranking = standing.policy.order, standing.ranking
        is_strict = order is Order.STRICT_FIFO
        self.ahead, self.turns = {}, []
        self._counts_on_leaving = False
        self._backfill.begin_sweep()
        self._reserved_enough = self._backfill.is_full
        first_waiting: dict[QueuePath, JobId] = {}
        for job in in_turn(standing.lines(), tree=standing.tree, ranking=ranking, order=order):
            self.turns.append(job)
            if is_strict and job.queue in first_waiting:
                self.ahead[job.id] = first_waiting[job.queue]
            elif not self._is_served(job) and is_strict:
                first_waiting[job.queue] = job.id
        may_matter = bool(self._backfill.bookings) or self._counts_on_leaving
        return standing.version != before and (may_matter or standing.eased + standing.crossed != eased)

    def _is_served(self, job: Job) -> bool:
        """Starts the job or claims devices for it; tells whether the jobs behind need not wait for it."""
        standing = self._standing
        ask = standing.asks[job.id]
        if self._can_never_start(job, ask) or standing.is_barred(job):  # it would stand in everybody's way
            return True
        if job.id in standing.keeps:
            return False
        if self._tries_to_start(job, ask) or self._tries_to_claim(job, ask):
            return True
        if not self._reserved_enough and job.id not in standing.keeps:
            self._backfill.reserve(job)
            self._reserved_enough = self._backfill.is_full
        return False

    def _can_never_start(self, job: Job, ask: Ask) -> bool:
        never = self.never.get(ask)
        if never is None:
            never = self.never[ask] = self._standing.can_never_start(job)
        return never

    def _tries_to_start(self, job: Job, ask: Ask) -> bool:
        eased = self._standing.eased
        if self._failed.get(ask) == eased:
            return False
        if not self._fits(job):
            self._failed[ask] = eased
            return False
        return self._start(job, ask)

    def _tries_to_claim(self, job: Job, ask: Ask) -> bool:
        """Whoever ranks lower may take no more than who ranked higher and could take nothing."""
        before, rank = self._standing.version, self._standing.ranking.rank_of(job)
        version, highest = self._empty_handed.get(ask, (-1, 0))
        if version == before and rank <= highest and not job.kept:
            return False
        starts = self._claim(job)
        if self._standing.version == before:
            self._empty_handed[ask] = (before, rank)
        return starts

    def _fits(self, job: Job) -> bool:
        """Whether limits and what is free now allow it, reservations apart."""
        standing = self._standing
        if standing.tree.limit_now(standing.queue_of(job), job.total_milli, user=job.user):
            return False
        return standing.fits_now(standing.requests[job.id])

    def _start(self, job: Job, ask: Ask) -> bool:
        free = self._room(job, ask)
        place = None if free is None else self._standing.place_now(job, free)
        if place is None or not self._backfill.allows(job, place):
            return False
        self._standing.start(job, place)
        self._backfill.started(job, place)
        return True

    def _room(self, job: Job, ask: Ask) -> Free | None:
        """What it may use beside the reservations that it would meet. Who meets the same and asks for the
        same is held up alike.
        """
        backfill = self._backfill
        if not backfill.binds:
            return backfill.room_for(job)
        key, state = (ask, backfill.met_by(job)), (self._standing.eased, backfill.num_made)
        if self._held_up.get(key) == state:
            return None
        free = backfill.room_for(job)
        if free is None:
            self._held_up[key] = state
        return free

    def _claim(self, job: Job) -> bool:
        """Takes what the job has a right to, and tells whether it starts at once."""
        standing = self._standing
        if standing.later is not standing.real and standing.fits_later(job):  # no victim is needed
            self._keep_again(job)
            self._counts_on_leaving = True
            return False
        if not self._claims.may_take(job) or self._is_hopeless(job):
            return False
        claim = self._claims.find(job)
        if claim is None:
            self._hopeless[self._likeness(job)] = (standing.version, job.least_workers)
            return False
        by_right = self._reclaims(job, claim)
        return self._backfill.allows(job, claim.place, by_right=by_right) and self._carry_out(job, claim)

    def _carry_out(self, job: Job, claim: Claim) -> bool:
        """Makes the claim good, and tells whether the job starts at once."""
        standing = self._standing
        carry_out(standing, claim, beneficiary=job)
        if standing.can_start_at(job, claim.place):
            standing.start(job, claim.place)
            return True
        if self._fits(job) and self._start(job, standing.asks[job.id]):
            return True  # elsewhere: what was not sent to a victim yet is free at once
        standing.keep(job, claim.place.placement)
        return False

    def _reclaims(self, job: Job, claim: Claim) -> bool:
        """Whether the claim takes anything from another queue."""
        losers = [*claim.victims, *(self._standing.jobs[name] for name in claim.pieces)]
        return any(loser.queue != job.queue for loser in losers)

    def _keep_again(self, job: Job) -> None:
        """What was kept became impossible, and its victims are still leaving: the job keeps other devices."""
        standing = self._standing
        place = standing.place_now(job, standing.later) if job.kept else None
        if place is not None and self._backfill.is_open(job, place.placement):
            standing.keep(job, place.placement)

    def _is_hopeless(self, job: Job) -> bool:
        """Whether a search failed for a job like this, not larger, and nothing has changed since."""
        version, num_workers = self._hopeless.get(self._likeness(job), (-1, 0))
        return version == self._standing.version and job.least_workers >= num_workers

    def _likeness(self, job: Job) -> tuple[QueuePath, int, Kind]:
        standing = self._standing
        return job.queue, standing.ranking.rank_of(job), standing.requests[job.id].kind
