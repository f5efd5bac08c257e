"""`decide`: what to start, whom to evict, what to keep, and why the rest waits. Pure, deterministic, total.

1. Jobs that devices are kept for start, go on keeping them, or are planned anew.
2. Sweeps: every other waiting job, in turn, starts if it can, else takes what it has a right to. A sweep
   changes what the next one finds (a borrower's start may make its queue reclaimable), so they go on until
   one changes nothing. Then deciding again on the result changes nothing either.
3. One reason for each job that waits.
"""

from scheduling.keeping import settle_keeps
from scheduling.model import JobId, Keep, Plan, Policy, Start
from scheduling.reasons import Reasons
from scheduling.snapshot import Snapshot
from scheduling.standing import Standing
from scheduling.sweeps import Sweeps


def decide(snapshot: Snapshot, now_ms: int, policy: Policy) -> Plan:
    """The plan for this moment. Equal snapshots (rows in any order) and policies give equal plans."""
    standing = Standing(snapshot, now_ms=now_ms, policy=policy)
    settle_keeps(standing)
    sweeps = Sweeps(standing)
    while sweeps.sweep():
        pass
    return _plan(standing, ahead=sweeps.ahead)


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
