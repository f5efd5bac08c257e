"""One round of the scheduler: end what is over its time, read a snapshot, decide, apply. One at a time."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import perf_counter
from uuid import UUID

from django.db.models import DateTimeField, DurationField, ExpressionWrapper, F, Value

from eventlog.wakeups import tick_begins
from jobs.lifecycle import Cause, State, Trigger
from jobs.live import LIVE
from jobs.models import Job
from jobs.services.apply_plan import Applied, apply_plan
from jobs.services.attempts import order_stop
from jobs.services.dependencies import cancel_dependents
from jobs.services.exclusive import TICK, alone
from jobs.services.plans import record_plan
from jobs.services.policy import live_policy
from jobs.services.sampling import check_now_and_then
from jobs.services.transition import Step, transition_many
from jobs.snapshot import milliseconds
from ray_runtime.protocol import StopIntent
from scheduling.decide import decide
from scheduling.model import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one tick did; `ran` is False where another tick was at work."""

    ran: bool
    num_overdue: int = 0
    num_orphaned: int = 0
    applied: Applied = field(default_factory=Applied)


def run_tick(*, now: datetime, policy: Policy | None = None) -> Round:
    """Decide once and carry it out. Does nothing while another tick is at work: the next one sees it all."""
    with alone(TICK) as held:
        if not held:
            return Round(ran=False)
        tick_begins()
        num_overdue, num_orphaned = stop_overdue(now=now), cancel_dependents(now=now)
        reading = LIVE.read(now=now)
        began = perf_counter()
        plan = decide(reading.snapshot, milliseconds(now), policy or live_policy())
        duration_ms = (perf_counter() - began) * 1000
        check_now_and_then(reading.snapshot, plan, now_ms=milliseconds(now))
        applied = apply_plan(plan, reading, now=now)
        record_plan(plan, reading, applied, duration_ms=duration_ms, now=now)
        return Round(ran=True, num_overdue=num_overdue, num_orphaned=num_orphaned, applied=applied)


def stop_overdue(*, now: datetime) -> int:
    """Tell every running job whose attempt is over its time limit to leave; how many were told."""
    step = Step(
        trigger=Trigger.STOP,
        cause=Cause.TIME_LIMIT,
        intent=StopIntent.FAIL,
        effect=order_stop(StopIntent.FAIL, reason=Cause.TIME_LIMIT),
    )
    answers = transition_many(dict.fromkeys(_overdue(now), step), now=now)
    return list(answers.values()).count(None)


def _overdue(now: datetime) -> list[UUID]:
    second = Value(timedelta(seconds=1), output_field=DurationField())
    limit = ExpressionWrapper(F("max_runtime_seconds") * second, output_field=DurationField())
    running = Job.objects.filter(state=State.RUNNING, max_runtime_seconds__isnull=False)
    ends_at = ExpressionWrapper(F("attempts__running_at") + limit, output_field=DateTimeField())
    overdue = running.filter(attempts__ended_at__isnull=True).annotate(ends_at=ends_at)
    return list(overdue.filter(ends_at__lte=now).values_list("id", flat=True))
