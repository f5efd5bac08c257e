"""Victims who turn out not to be needed once all claims of a plan are made.

Each claim takes the fewest for itself; but a later one may free more than it uses, and an earlier one could
live on that. Such a victim goes on, once: whoever is evicted again in the same plan leaves.
"""

from scheduling.model import Job, JobId, JobPhase
from scheduling.standing import Standing


class Reprieve:
    """Looks through the evictions of one plan."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._reprieved: set[JobId] = set()

    def spare_the_needless(self) -> bool:
        """Lets victims go on whose beneficiaries find room without them, dearest first; tells whether any
        does. One claim alone has nobody to spare.
        """
        standing = self._standing
        if len({each.beneficiary for each in standing.evictions.values()}) <= 1:
            return False
        victims = [standing.jobs[name] for name in standing.evictions if name not in self._reprieved]
        return sum(self._spare(victim) for victim in sorted(victims, key=self._dearest_first)) > 0

    def _dearest_first(self, victim: Job) -> tuple[int, JobId]:
        held = len(victim.placement) * max(victim.accelerators_milli, 1)
        saved_at_ms = max(victim.placed_at_ms or 0, victim.saved_at_ms or 0)
        lost_ms = max(self._standing.now_ms - saved_at_ms, 0) + victim.restart_cost_ms
        return -held * lost_ms, victim.id

    def _spare(self, victim: Job) -> bool:
        standing = self._standing
        job = standing.jobs[standing.evictions[victim.id].beneficiary]
        if victim.is_elastic or victim.num_missing:  # has changed its size in this plan
            return False
        if job.phase is not JobPhase.WAITING or job.id not in standing.keeps:
            return False
        if not standing.has_room_later(job):
            return False
        kept = standing.keeps[job.id]
        standing.drop_keep(job)
        if standing.reinstate(victim):
            place = standing.place_now(job, standing.later) if standing.fits_later(job) else None
            if place is not None:
                standing.keep(job, place.placement)
                self._reprieved.add(victim.id)
                return True
            standing.evict(victim, beneficiary=job)
        standing.keep(job, kept)
        return False
