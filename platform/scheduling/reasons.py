"""Why a job waits: one reason with numbers, by the precedence of `ReasonCode`, and what would help."""

from collections.abc import Mapping

from scheduling.measures import Measures
from scheduling.model import Help, Job, JobId, Reason, ReasonCode
from scheduling.shares import LimitHit
from scheduling.standing import Standing


class Reasons:
    """Gives the reasons of one finished plan; `ahead` names the job that each blocked one stands behind."""

    def __init__(self, standing: Standing, *, ahead: Mapping[JobId, JobId]) -> None:
        self._standing = standing
        self._tree = standing.tree
        self._measures = Measures(standing)
        self._ahead = ahead

    def reason_of(self, job: Job) -> Reason:
        """The first reason that holds."""
        rules = (
            self._never_fits,
            self._over_limit,
            self._limit_now,
            self._waits_victims,
            self._kept_for_other,
            self._in_order,
            self._fragmented,
            self._share,
        )
        found = (rule(job) for rule in rules)
        return next((reason for reason in found if reason is not None), None) or self._no_capacity(job)

    def _never_fits(self, job: Job) -> Reason | None:
        empty = self._standing.empty
        if self._measures.fits(empty, job):
            return None
        advice = self._measures.way_out(empty, job) or Help.ASK_FOR_LESS
        return Reason(code=ReasonCode.NEVER_FITS, params=self._measures.room(empty, job), help=advice)

    def _over_limit(self, job: Job) -> Reason | None:
        hit = self._tree.beyond_limit(self._standing.queue_of(job), job.total_milli)
        if hit is None:
            return None
        params: dict[str, int | str] = {
            "queue": hit.queue,
            "limit_milli": hit.limit_milli,
            "wanted_milli": job.total_milli,
        }
        return Reason(code=ReasonCode.OVER_LIMIT, params=params, help=Help.RAISE_LIMIT)

    def _limit_now(self, job: Job) -> Reason | None:
        hit = self._limit_in_the_way(job)
        if hit is None:
            return None
        params: dict[str, int | str] = {
            "queue": hit.queue,
            "used_milli": hit.used_milli,
            "claimed_milli": hit.claimed_milli,
            "limit_milli": hit.limit_milli,
            "wanted_milli": job.total_milli,
        }
        return Reason(code=ReasonCode.LIMIT_NOW, params=params, help=Help.WAIT_FOR_QUEUE)

    def _limit_in_the_way(self, job: Job) -> LimitHit | None:
        """What is claimed for the job itself does not stand in its way."""
        queue = self._standing.queue_of(job)
        own = job.total_milli if job.id in self._standing.keeps else 0
        return self._tree.limit_now(queue, job.total_milli, own_claim=own)

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
        if self._measures.fits(standing.now, job) or not self._measures.fits(standing.real, job):
            return None
        other = self._measures.main_keeper(job)
        kept_milli = self._measures.kept_and_free(other)
        amounts = self._measures.amounts(standing.now, job)
        params: dict[str, int | str] = {"job": other, "kept_milli": kept_milli, **amounts}
        return Reason(code=ReasonCode.KEPT_FOR_OTHER, params=params, help=Help.STARTS_AFTER_OTHER)

    def _in_order(self, job: Job) -> Reason | None:
        if job.id not in self._ahead or not self._measures.fits(self._standing.now, job):
            return None
        params: dict[str, int | str] = {"job": self._ahead[job.id], "queue": job.queue}
        return Reason(code=ReasonCode.IN_ORDER, params=params, help=Help.STARTS_AFTER_OTHER)

    def _fragmented(self, job: Job) -> Reason | None:
        now = self._standing.now
        if not self._measures.is_enough(now, job):
            return None
        smaller = Help.SMALLER_WORKERS if job.accelerators_milli > 1000 else Help.WAIT_FOR_DEVICES
        advice = self._measures.way_out(now, job) or smaller
        return Reason(code=ReasonCode.FRAGMENTED, params=self._measures.room(now, job), help=advice)

    def _share(self, job: Job) -> Reason | None:
        """Others use devices that the job could use, and it may not take any back from them."""
        queue = self._standing.queue_of(job)
        users = {q: used for q, used in self._measures.users(job).items() if q != queue}
        if not job.total_milli or not users or users.keys() & self._tree.reclaimable(queue, job.total_milli):
            return None
        params: dict[str, int | str] = {
            "queue": job.queue,
            "used_milli": self._tree.used[queue],
            "guarantee_milli": self._tree.guarantees[queue],
            "other": self._tree.queues[max(users, key=lambda q: (users[q], -q))].path,
            **self._measures.amounts(self._standing.now, job),
        }
        return Reason(code=ReasonCode.SHARE, params=params, help=Help.RAISE_GUARANTEE)

    def _no_capacity(self, job: Job) -> Reason:
        now = self._standing.now
        advice = self._measures.way_out(now, job) or Help.WAIT_FOR_DEVICES
        return Reason(code=ReasonCode.NO_CAPACITY, params=self._measures.room(now, job), help=advice)
