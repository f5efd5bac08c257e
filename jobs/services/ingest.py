"""Reports of the conductor become triggers. Each counts once; those of ended attempts change nothing."""

import logging
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from cluster.services import advance_cursor, check_epoch
from jobs.lifecycle import Cause, State, Trigger
from jobs.models import Attempt, Job
from jobs.services.attempts import AttemptEnd, is_live, mark_running
from jobs.services.endings import end_attempt
from jobs.services.transition import Step, record_event, transition_locked
from jobs.wire import storable, uuid_or_none
from ray_runtime.protocol import EndCause, Report, ReportKind

logger = logging.getLogger(__name__)

MAX_LINES = 50
MAX_LINE_LENGTH = 1_000
_INT32 = 2**31 - 1


def ingest_reports(*, epoch: int, incarnation: str, reports: Sequence[Report], now: datetime) -> int:
    """Take in a batch that follows on the last one; the number up to which everything is taken in.

    Raises `StaleEpoch`, `ReportGap`. A batch that comes again, whole or in part, has no second effect.
    """
    ordered = sorted(reports, key=lambda report: report.seq)
    with transaction.atomic():
        check_epoch(epoch)
        if not ordered:
            return 0
        num_new = advance_cursor(
            incarnation=incarnation, first_seq=ordered[0].seq, count=len(ordered), now=now
        )
        new = ordered[len(ordered) - num_new :]
        jobs = _lock_jobs(new)
        for report in new:
            _take_in(report, jobs, now=now)
    return ordered[-1].seq


def _lock_jobs(reports: Sequence[Report]) -> dict[UUID, Job]:
    """The jobs of these reports by attempt id, locked in id order as everybody locks several."""
    ids = {key for report in reports if (key := uuid_or_none(report.attempt_id))}
    owners = dict(Attempt.objects.filter(id__in=ids).values_list("id", "job_id"))
    rows = Job.objects.select_for_update(no_key=True).filter(id__in=set(owners.values())).order_by("id")
    by_id = {job.id: job for job in rows}
    return {attempt_id: by_id[job_id] for attempt_id, job_id in owners.items()}


def _take_in(report: Report, jobs: dict[UUID, Job], *, now: datetime) -> None:
    attempt_id = uuid_or_none(report.attempt_id)
    job = jobs.get(attempt_id) if attempt_id else None
    if attempt_id is None or job is None or not is_live(attempt_id):
        logger.info("report %s of attempt %s changes nothing", report.kind, report.attempt_id)
        return
    match report.kind:
        case ReportKind.FORMING if job.state == State.STARTING:
            data = {"attempt": job.num_attempts}
            record_event(job, "forming", now=now, attempt_id=attempt_id, data=data)
        case ReportKind.RUNNING if job.state == State.STARTING:
            start = Step(trigger=Trigger.START, cause=Cause.STARTED, effect=mark_running)
            transition_locked(job, step=start, now=now)
        case ReportKind.RUNNING:
            mark_running(job, now)  # told to stop before it said so: its time on the devices still counts
        case ReportKind.ENDED:
            end_attempt(job, attempt_end(report), now=now)


def attempt_end(report: Report) -> AttemptEnd:
    """How the report says that it ended, with texts and numbers that the database can hold."""
    return AttemptEnd(
        cause=report.cause or EndCause.UNKNOWN,
        finished=report.finished,
        exit_code=_bounded(report.exit_code, low=-_INT32),
        rank=_bounded(report.rank, low=0),
        node=storable(report.node or "", max_length=120),
        message=storable(report.message, max_length=1_000),
        last_lines=[storable(line, max_length=MAX_LINE_LENGTH) for line in report.last_lines[-MAX_LINES:]],
    )


def _bounded(number: int | None, *, low: int) -> int | None:
    return number if number is not None and low <= number <= _INT32 else None
