"""`decide`: what to start, whom to evict, what to keep, and why the rest waits. Pure, deterministic, total.

1. Jobs that devices are kept for start, go on keeping them, or are planned anew.
2. Sweeps: every other waiting job, in turn, starts if it can, else takes what it has a right to. A sweep
   changes what the next one finds (a borrower's start may make its queue reclaimable), so they go on until
   one changes nothing. Then deciding again on the result changes nothing either.
3. One reason for each job that waits.
"""

from scheduling.amounts import Kind
from scheduling.keeping import settle_keeps
from scheduling.model import Job, JobId, Keep, Order, Plan, Policy, QueuePath, Start
from scheduling.ordering import in_turn
from scheduling.preemption import Claims
from scheduling.reasons import Reasons
from scheduling.snapshot import Snapshot
from scheduling.standing import Standing


def decide(snapshot: Snapshot, now_ms: int, policy: Policy) -> Plan:
    """The plan for this moment. Equal snapshots (rows in any order) and policies give equal plans."""
    standing = Standing(snapshot, now_ms=now_ms, policy=policy)
    settle_keeps(standing)
    pass_ = _Pass(standing)
    while pass_.sweep():
        pass
    return _plan(standing, ahead=pass_.ahead)


class _Pass:
    """Sweeps over the waiting jobs. `ahead`: behind which job each one stands that strict order blocks."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._claims = Claims(standing)
        self._hopeless: dict[tuple[QueuePath, int, Kind], tuple[int, int]] = {}
        self.ahead: dict[JobId, JobId] = {}

    def sweep(self) -> bool:
        """Considers every waiting job once; tells whether anything changed."""
        standing, before = self._standing, self._standing.version
        is_strict = standing.policy.order is Order.STRICT_FIFO
        self.ahead = {}
        first_waiting: dict[QueuePath, JobId] = {}
        for job in in_turn(standing.waiting(), tree=standing.tree, order=standing.policy.order):
            if job.queue in first_waiting:
                self.ahead[job.id] = first_waiting[job.queue]
            elif not self._is_served(job) and is_strict:
                first_waiting[job.queue] = job.id
        return standing.version != before

    def _is_served(self, job: Job) -> bool:
        """Starts the job or claims devices for it; tells whether the jobs behind need not wait for it."""
        if self._standing.can_never_start(job):  # it would stand in everybody's way for ever
            return True
        return job.id not in self._standing.keeps and (self._start(job) or self._claim(job))

    def _start(self, job: Job) -> bool:
        standing = self._standing
        request = standing.requests[job.id]
        if standing.tree.limit_now(standing.queue_of(job), job.total_milli) or not standing.fits_now(request):
            return False
        place = standing.placer.place(standing.now, request)
        if place is None:
            return False
        standing.start(job, place)
        return True

    def _claim(self, job: Job) -> bool:
        """Takes what the job has a right to, and tells whether it starts at once."""
        standing = self._standing
        if standing.fits_later(job):  # devices are being freed, no victim is needed
            self._keep_again(job)
            return False
        claim = None if self._is_hopeless(job) else self._claims.find(job)
        if claim is None:
            self._remember(job)
            return False
        for victim in claim.victims:
            if victim.id in standing.starts:
                standing.take_back(victim)
            else:
                standing.evict(victim, beneficiary=job)
        if standing.can_start_at(job, claim.place.placement):
            standing.start(job, claim.place)
            return True
        standing.keep(job, claim.place.placement)
        return False

    def _keep_again(self, job: Job) -> None:
        """What was kept became impossible, and its victims are still leaving: the job keeps other devices."""
        standing = self._standing
        place = standing.placer.place(standing.later, standing.requests[job.id]) if job.kept else None
        if place is not None:
            standing.keep(job, place.placement)

    def _is_hopeless(self, job: Job) -> bool:
        """Whether a search failed for a job like this, not larger, and nothing has changed since."""
        version, num_workers = self._hopeless.get(self._likeness(job), (-1, 0))
        return version == self._standing.version and job.num_workers >= num_workers

    def _remember(self, job: Job) -> None:
        if not self._is_hopeless(job):
            self._hopeless[self._likeness(job)] = (self._standing.version, job.num_workers)

    def _likeness(self, job: Job) -> tuple[QueuePath, int, Kind]:
        return job.queue, job.priority, self._standing.requests[job.id].kind


def _plan(standing: Standing, *, ahead: dict[JobId, JobId]) -> Plan:
    reasons = Reasons(standing, ahead=ahead)
    starts = sorted(standing.starts.items())
    return Plan(
        starts=tuple(
            Start(job=job, placement=place.placement, accelerator_type=place.accelerator_type)
            for job, place in starts
        ),
        evictions=tuple(standing.evictions[job] for job in sorted(standing.evictions)),
        keeps=tuple(Keep(job=job, placement=standing.keeps[job]) for job in sorted(standing.keeps)),
        reasons={job.id: reasons.reason_of(job) for job in standing.waiting()},
        gave_way=tuple(sorted(standing.gave_way - standing.starts.keys())),
        policy=standing.policy,
    )
