"""Compares what the database believes with what the conductor holds, and files the differences.

Only what the conductor says counts. Its silence, a transport error or an unreachable node is never taken for
the death of an attempt: a conductor that is back knows, and says so.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from cluster.selectors import ConductorState, conductor_state
from eventlog.models import Command
from jobs.models import Attempt
from jobs.services.attempts import AttemptEnd, is_live, stop_again
from jobs.services.endings import end_attempt
from jobs.services.transition import lock_job
from jobs.wire import uuid_or_none
from ray_runtime.protocol import EndCause, OrderKind

logger = logging.getLogger(__name__)

HEARD_WITHIN = timedelta(seconds=5)  # an inventory comes every second
MISSING_FOR = timedelta(seconds=10)  # reports of an end are on their way for less than this
STOPPED_AGAIN_AFTER = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """What was found: attempts that the conductor lost, and attempts that it holds though they have ended."""

    num_lost: int = 0
    num_left_over: int = 0


def reconcile(*, now: datetime) -> Differences:
    """File the differences as triggers and orders; none while the conductor is silent or still rebuilding."""
    conductor = conductor_state()
    if not _is_trusted(conductor, now):
        return Differences()
    held = {key: state for text, state in conductor.attempts.items() if (key := uuid_or_none(text))}
    return Differences(num_lost=_end_lost(held, now=now), num_left_over=_stop_left_over(held, now=now))


def _is_trusted(conductor: ConductorState, now: datetime) -> bool:
    heard = conductor.last_seen_at
    return conductor.rebuilt and heard is not None and now - heard <= HEARD_WITHIN


def _end_lost(held: Mapping[UUID, str], *, now: datetime) -> int:
    """End attempts whose launch was acknowledged and of which the conductor has had no trace for a while."""
    launched = Command.objects.filter(
        attempt_id=OuterRef("id"), kind=OrderKind.LAUNCH, done_at__lt=now - MISSING_FOR
    )
    live = Attempt.objects.filter(ended_at__isnull=True)
    live.filter(id__in=held, missing_since__isnull=False).update(missing_since=None)
    missing = live.filter(Exists(launched)).exclude(id__in=held)
    missing.filter(missing_since__isnull=True).update(missing_since=now)
    overdue = (
        missing.filter(missing_since__lte=now - MISSING_FOR).values_list("id", "job_id").order_by("job_id")
    )
    return sum(_end(attempt_id, job_id, now=now) for attempt_id, job_id in list(overdue))


def _end(attempt_id: UUID, job_id: UUID, *, now: datetime) -> bool:
    with transaction.atomic():
        job = lock_job(job_id)
        if not is_live(attempt_id):
            return False
        logger.warning("attempt %s of job %s is unknown to the conductor and is ended", attempt_id, job_id)
        end_attempt(job, AttemptEnd(cause=EndCause.UNKNOWN), now=now)
        return True


def _stop_left_over(held: Mapping[UUID, str], *, now: datetime) -> int:
    """Order the conductor to drop attempts that have ended here; again after a while if it did not."""
    ended = Attempt.objects.filter(id__in=held, ended_at__lt=now - MISSING_FOR)
    told = Command.objects.filter(
        attempt_id=OuterRef("id"), kind=OrderKind.STOP, created_at__gt=now - STOPPED_AGAIN_AFTER
    )
    left_over = list(ended.filter(~Exists(told)).values_list("id", "job_id"))
    for attempt_id, job_id in left_over:
        with transaction.atomic():
            lock_job(job_id)
            stop_again(Attempt.objects.get(id=attempt_id), now=now)
    return len(left_over)
