"""Why a job waits: one reason with numbers, by the precedence of `ReasonCode`, and what would help."""

from collections.abc import Callable, Mapping

from scheduling.amounts import Ask
from scheduling.backfill import Backfill, Met
from scheduling.measures import Measures
from scheduling.model import Help, Job, JobId, Reason, ReasonCode
from scheduling.shares import TOTAL, LimitHit
from scheduling.standing import Standing
from scheduling.supply import Free

LEAST_LIMIT_MS = 60_000  # nobody sets a limit shorter than a minute
Rule = Callable[[Job], Reason | None]


class Reasons:
    """Gives the reasons of one finished plan. `ahead` names the job that each blocked one stands behind;
    `never` tells of what was asked whether it can never be had.
    """

    def __init__(
        self,
        standing: Standing,
        backfill: Backfill,
        *,
        ahead: Mapping[JobId, JobId],
        never: Mapping[Ask, bool],
    ) -> None:
        self._standing = standing
        self._backfill = backfill
        self._tree = standing.tree
        self._measures = Measures(standing)
        self._ahead = ahead
        self._never = never
        self._shared: dict[Ask | tuple[Ask, Met], Reason] = {}
        for_all = (self._limit_now, self._kept_for_other, self._fragmented, self._share)
        own = (self._waits_job, self._array_cap, self._limit_now, self._waits_victims, self._kept_for_other)
        self._hopeless_rules = (self._never_fits, self._over_limit)
        self._shared_rules = for_all
        self._own_rules = (*self._hopeless_rules, *own, self._in_order, self._fragmented, self._share)

    def reason_of(self, job: Job) -> Reason:
        """The first reason that holds."""
        if job.id in self._standing.keeps or job.id in self._ahead or self._standing.is_barred(job):
            return self._first(job, self._own_rules)
        ask = self._standing.asks[job.id]
        reason = self._shared.get(ask)  # who asks for the same in the same queue waits for the same reason
        return reason or self._first_for_all(job, ask)

    def _first_for_all(self, job: Job, ask: Ask) -> Reason:
        """Found once for all who ask for the same, or for those of them who meet the same reservations."""
        key = (ask, self._backfill.met_by(job)) if self._hangs_on_its_end(job) else ask
        if key not in self._shared:
            is_hopeless = self._never.get(ask, True)
            rules = (*self._hopeless_rules, *self._shared_rules) if is_hopeless else self._shared_rules
            self._shared[key] = self._first(job, rules)
        return self._shared[key]

    def _hangs_on_its_end(self, job: Job) -> bool:
        """Whether it could start if it ended sooner."""
        return self._backfill.binds and self._measures.fits(self._standing.now, job)

    def _first(self, job: Job, rules: tuple[Rule, ...]) -> Reason:
        for rule in rules:
            reason = rule(job)
            if reason is not None:
                return reason
        return self._no_capacity(job)

    def _waits_job(self, job: Job) -> Reason | None:
        others = sorted(other for other in job.depends_on if other in self._standing.jobs)
        if not others:
            return None
        params: dict[str, int | str] = {"job": others[0], "num_jobs": len(others)}
        return Reason(code=ReasonCode.WAITS_JOB, params=params, help=Help.WAIT_FOR_JOB)

    def _array_cap(self, job: Job) -> Reason | None:
        if job.array_cap is None or not self._standing.is_barred(job):
            return None
        params: dict[str, int | str] = {"array": job.array, "cap": job.array_cap}
        return Reason(code=ReasonCode.ARRAY_CAP, params=params, help=Help.WAIT_FOR_JOB)

    def _never_fits(self, job: Job) -> Reason | None:
        empty = self._standing.empty
        if self._measures.fits(empty, job):
            return None
        advice = self._measures.way_out(empty, job) or Help.ASK_FOR_LESS
        return Reason(code=ReasonCode.NEVER_FITS, params=self._measures.room(empty, job), help=advice)

    def _over_limit(self, job: Job) -> Reason | None:
        hit = self._tree.beyond_limit(self._standing.queue_of(job), job.total_milli, types=job.types)
        if hit is None:
            return None
        params = {"limit_milli": hit.limit_milli, "wanted_milli": job.total_milli, **_whose(hit)}
        return Reason(code=ReasonCode.OVER_LIMIT, params=params, help=Help.RAISE_LIMIT)

    def _limit_now(self, job: Job) -> Reason | None:
        hit = self._limit_in_the_way(job)
        if hit is None:
            return None
        params = {
            "used_milli": hit.used_milli,
            "claimed_milli": hit.claimed_milli,
            "limit_milli": hit.limit_milli,
            "wanted_milli": job.total_milli,
            **_whose(hit),
        }
        return Reason(code=ReasonCode.LIMIT_NOW, params=params, help=Help.WAIT_FOR_QUEUE)

    def _limit_in_the_way(self, job: Job) -> LimitHit | None:
        """The limit of the total or of the user; or of a type, where all types that it takes are full. What
        is claimed for the job itself does not stand in its way.
        """
        queue, wanted = self._standing.queue_of(job), job.total_milli
        own = wanted if job.id in self._standing.keeps else 0
        hit = self._tree.limit_now(queue, wanted, user=job.user, own_claim=own)
        blocked = self._tree.blocked_types(queue, wanted) if hit is None and not own else frozenset()
        full = [name for name in job.types or self._tree.types if name in blocked]
        if not full or not (blocked.issuperset(job.types or self._tree.types) or self._would_fit(job)):
            return hit
        number = self._tree.types.index(full[0])
        return self._tree.limit_now(queue, wanted, accelerator_type=number, user=job.user)

    def _would_fit(self, job: Job) -> bool:
        """Whether the job has a place now on what all its types have free."""
        return self._measures.fits(self._standing.now, job)

    def _waits_victims(self, job: Job) -> Reason | None:
        if job.id not in self._standing.keeps:
            return None
        victims = self._measures.victims(job.id)
        params: dict[str, int | str] = {
            "job": next(iter(victims), ""),
            "num_leaving": len(victims),
            "awaited_milli": job.total_milli - self._measures.kept_and_free(job.id),
        }
        return Reason(code=ReasonCode.WAITS_VICTIMS, params=params, help=Help.STARTS_WHEN_FREED)

    def _kept_for_other(self, job: Job) -> Reason | None:
        standing = self._standing
        if self._measures.fits(standing.now, job):
            return self._reserved_for_other(job)
        if not self._measures.fits(standing.real, job):
            return None
        other = self._measures.main_keeper(job)
        kept_milli = self._measures.kept_and_free(other)
        amounts = self._measures.amounts(standing.now, job)
        params: dict[str, int | str] = {"job": other, "kept_milli": kept_milli, **amounts}
        return Reason(code=ReasonCode.KEPT_FOR_OTHER, params=params, help=Help.STARTS_AFTER_OTHER)

    def _reserved_for_other(self, job: Job) -> Reason | None:
        booking = self._backfill.blocker_of(job)
        if booking is None:
            return None
        params: dict[str, int | str] = {
            "job": booking.reservation.job,
            "kept_milli": booking.stay.job.total_milli,
            "starts_at_ms": booking.starts_at_ms,
            **self._measures.amounts(self._standing.now, job),
        }
        ends_in_time = booking.starts_at_ms - self._standing.now_ms >= LEAST_LIMIT_MS
        would_start = ends_in_time and job.id not in self._ahead
        advice = Help.SHORTER_LIMIT if would_start else Help.STARTS_AFTER_OTHER
        return Reason(code=ReasonCode.KEPT_FOR_OTHER, params=params, help=advice)

    def _in_order(self, job: Job) -> Reason | None:
        if job.id not in self._ahead or not self._measures.fits(self._standing.now, job):
            return None
        params: dict[str, int | str] = {"job": self._ahead[job.id], "queue": job.queue}
        return Reason(code=ReasonCode.IN_ORDER, params=params, help=Help.STARTS_AFTER_OTHER)

    def _fragmented(self, job: Job) -> Reason | None:
        now = self._backfill.open_for(job)
        if not self._measures.is_enough(now, job):
            return None
        smaller = Help.SMALLER_WORKERS if job.accelerators_milli > 1000 else Help.WAIT_FOR_DEVICES
        advice = self._way_out(now, job) or smaller
        return Reason(code=ReasonCode.FRAGMENTED, params=self._measures.room(now, job), help=advice)

    def _share(self, job: Job) -> Reason | None:
        """Others use devices that the job could use, and it may not take any back from them."""
        queue = self._standing.queue_of(job)
        users = self._measures.others(job, queue) if job.total_milli else {}
        if not users or not users.keys().isdisjoint(self._tree.reclaimable(queue, job.total_milli)):
            return None
        params: dict[str, int | str] = {
            "queue": job.queue,
            "used_milli": self._tree.used[queue][TOTAL],
            "guarantee_milli": self._tree.guarantees[queue],
            "other": self._tree.queues[next(iter(users))].path,
            **self._measures.amounts(self._standing.now, job),
        }
        return Reason(code=ReasonCode.SHARE, params=params, help=Help.RAISE_GUARANTEE)

    def _no_capacity(self, job: Job) -> Reason:
        now = self._backfill.open_for(job)
        advice = self._way_out(now, job) or Help.WAIT_FOR_DEVICES
        return Reason(code=ReasonCode.NO_CAPACITY, params=self._measures.room(now, job), help=advice)

    def _way_out(self, now: Free, job: Job) -> Help | None:
        """Where only a maintenance window is in the way, ending before it would help."""
        if now is not self._standing.now and self._measures.fits(self._standing.now, job):
            return Help.SHORTER_LIMIT
        return self._measures.way_out(now, job)


def _whose(hit: LimitHit) -> dict[str, int | str]:
    """Whose limit it is: a queue's, for one type or for one user where that is so."""
    whose = {"queue": hit.queue, "type": hit.accelerator_type, "user": hit.user}
    return {name: value for name, value in whose.items() if value}
