"""`decide`: what to start, whom to evict, what to keep, and why the rest waits. Pure, deterministic, total.

1. Elastic gangs shrink to what is wanted, and running gangs that lost workers get others, or leave.
2. Jobs that devices are kept for start, go on keeping them, or are planned anew.
3. Sweeps: every other waiting job, in turn, starts if it can, else takes what it has a right to. A sweep
   changes what the next one finds (a borrower's start may make its queue reclaimable), so they go on until
   one changes nothing. Then deciding again on the result changes nothing either. The first that cannot start
   reserve their earliest start, which nobody behind may delay.
4. Elastic gangs grow into what is idle and of use to nobody who waits.
5. One reason for each job that waits.
"""

from scheduling.backfill import Backfill
from scheduling.balance import Balance
from scheduling.elastic import grow, shrink_to_wanted
from scheduling.expected import expected_times
from scheduling.keeping import renew_keeps, start_kept
from scheduling.model import Growth, Keep, Plan, Policy, Start
from scheduling.reasons import Reasons
from scheduling.repair import repair, resizes_and_repairs
from scheduling.reprieve import Reprieve
from scheduling.snapshot import Snapshot
from scheduling.standing import Standing
from scheduling.sweeps import Sweeps
from scheduling.windows import make_way


def decide(snapshot: Snapshot, now_ms: int, policy: Policy) -> Plan:
    """The plan for this moment. Equal snapshots (rows in any order) and policies give equal plans."""
    standing = Standing(snapshot, now_ms=now_ms, policy=policy)
    shrink_to_wanted(standing)
    backfill = Backfill(standing, snapshot)
    make_way(standing, snapshot.windows)
    kept = renew_keeps(standing, backfill)
    repair(standing, backfill)
    start_kept(standing, backfill, kept)
    balance = Balance(standing, backfill) if policy.growth is Growth.BALANCED else None
    if balance is not None:
        balance.shrink()
    sweeps = Sweeps(standing, backfill)
    reprieve = Reprieve(standing)
    while sweeps.sweep() or reprieve.spare_the_needless():
        pass
    if balance is None:
        grow(standing, backfill)
    else:
        balance.settle()
    backfill.book_again()
    return _plan(standing, sweeps, backfill)


def _plan(standing: Standing, sweeps: Sweeps, backfill: Backfill) -> Plan:
    reasons = Reasons(standing, backfill, ahead=sweeps.ahead, never=sweeps.never)
    explained = standing.waiting() if standing.policy.explains else ()
    starts = sorted(standing.starts.items())
    resizes, repairs = resizes_and_repairs(standing)
    return Plan(
        starts=tuple(
            Start(job=job, placement=place.placement, accelerator_type=place.accelerator_type)
            for job, place in starts
        ),
        evictions=tuple(standing.evictions[job] for job in sorted(standing.evictions)),
        resizes=resizes,
        repairs=repairs,
        keeps=tuple(Keep(job=job, placement=standing.keeps[job]) for job in sorted(standing.keeps)),
        reservations=tuple(booking.reservation for booking in backfill.bookings),
        reasons={job.id: reasons.reason_of(job) for job in explained},
        etas=expected_times(standing, backfill, sweeps.turns, sweeps.never) if explained else {},
        gave_way=tuple(sorted(standing.gave_way - standing.starts.keys())),
        policy=standing.policy,
    )
