"""Carries out the engine's plan: each decision in its own short transaction, for the version it was made on.

A decision that lost its race is dropped and recorded; the next tick decides anew.
"""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from eventlog.selectors import events_of
from jobs.errors import CheckpointGone
from jobs.lifecycle import Cause, Trigger
from jobs.services.attempts import open_attempt, order_stop
from jobs.services.launch import placement_rows
from jobs.services.transition import Done, Step, lock_job, record_event, transition
from jobs.snapshot import Reading
from ray_runtime.protocol import StopIntent
from refusals import NotFound, Refusal
from scheduling.model import Evict, EvictionKind, JobId, JobPhase, Plan, Reason, Start

logger = logging.getLogger(__name__)

_EVICTION_CAUSES = {
    EvictionKind.PREEMPT: Cause.PREEMPTED,
    EvictionKind.RECLAIM: Cause.RECLAIMED,
    EvictionKind.INCOMPLETE: Cause.INCOMPLETE,
    EvictionKind.MAINTENANCE: Cause.MAINTENANCE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What became of a plan."""

    num_started: int = 0
    num_evicted: int = 0
    num_dropped: int = 0
    num_reasons: int = 0


def apply_plan(plan: Plan, reading: Reading, *, now: datetime) -> Applied:
    """Apply every decision of a plan that was made on this reading."""
    started = [_decide(start.job, _start(start, reading), now=now) for start in plan.starts]
    evicted = [_decide(evict.job, _evict(evict, reading), now=now) for evict in plan.evictions]
    return Applied(
        num_started=started.count(True),
        num_evicted=evicted.count(True),
        num_dropped=started.count(False) + evicted.count(False),
        num_reasons=_write_reasons(plan, reading),
    )


def _start(start: Start, reading: Reading) -> Step:
    return Step(
        trigger=Trigger.PLACE,
        cause=Cause.PLACED,
        expected_version=reading.versions.get(start.job),
        effect=open_attempt(start.placement, accelerator_type=start.accelerator_type),
    )


def _evict(evict: Evict, reading: Reading) -> Step:
    """The victim is told for whom it leaves, so that its owner can be told too."""
    cause = _EVICTION_CAUSES[evict.kind]
    return Step(
        trigger=Trigger.STOP,
        cause=cause,
        expected_version=reading.versions.get(evict.job),
        intent=StopIntent.PREEMPT,
        effect=order_stop(StopIntent.PREEMPT, reason=cause, data={"beneficiary": evict.beneficiary}),
    )


def _decide(job: JobId, step: Step, *, now: datetime) -> bool:
    """Whether the decision was carried out."""
    job_id = UUID(job)
    try:
        transition(job_id, step=step, now=now)
    except CheckpointGone as gone:
        _fail(job_id, gone, step, now=now)
        return False
    except Refusal as refusal:
        _drop(job_id, refusal, step, now=now)
        return False
    return True


def _fail(job_id: UUID, gone: CheckpointGone, step: Step, *, now: datetime) -> None:
    """Waiting would not bring the checkpoint back, and starting from nothing is not what was asked for."""
    failed = Step(
        trigger=Trigger.FAIL,
        cause=Cause.START_FAILED,
        expected_version=step.expected_version,
        effect=lambda _job, _now: Done(data={"message": str(gone.params["id"])}),
    )
    transition(job_id, step=failed, now=now)


def _drop(job_id: UUID, refusal: Refusal, step: Step, *, now: datetime) -> None:
    """Record that a decision came too late; the same one again and again is recorded once."""
    logger.info("decision %s about job %s was dropped: %s", step.trigger, job_id, refusal.code)
    with transaction.atomic():
        try:
            job = lock_job(job_id)
        except NotFound:
            return
        told = {"decision": step.trigger, "why": refusal.code}
        newest = events_of(job_id, after_seq=job.event_seq - 1).first()
        if newest is None or newest.kind != "decision_dropped" or newest.data != told:
            record_event(job, "decision_dropped", now=now, data=told)


def _write_reasons(plan: Plan, reading: Reading) -> int:
    """Reason and kept devices of every job that waits on; only rows that change are written.

    Rows that somebody else has locked are skipped: what they become is the next tick's to explain.
    """
    rows = [*_waiting_rows(plan, reading)]
    if not rows:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_WRITE_REASONS, [list(column) for column in zip(*rows, strict=True)])
        return int(cursor.rowcount)


def _waiting_rows(plan: Plan, reading: Reading) -> Iterator[tuple[str, int, str | None, str]]:
    kept = {keep.job: placement_rows(keep.placement) for keep in plan.keeps}
    started = {start.job for start in plan.starts}
    for job in reading.snapshot.jobs:
        if job.phase is JobPhase.WAITING and job.id not in started:
            yield (
                job.id,
                reading.versions[job.id],
                _stored(plan.reasons.get(job.id)),
                json.dumps(kept.get(job.id, [])),
            )


def _stored(reason: Reason | None) -> str | None:
    if reason is None:
        return None
    return json.dumps({"code": reason.code, "params": dict(reason.params), "help": reason.help})


_WRITE_REASONS = """
WITH given AS (
    SELECT id, version, reason::jsonb, kept::jsonb
    FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::text[]) AS rows (id, version, reason, kept)
), changed AS (
    SELECT job.id, given.reason, given.kept
    FROM jobs_job job JOIN given ON given.id = job.id AND given.version = job.version
    WHERE job.state = 'queued'
      AND (job.reason IS DISTINCT FROM given.reason OR job.kept IS DISTINCT FROM given.kept)
    FOR NO KEY UPDATE OF job SKIP LOCKED
)
UPDATE jobs_job SET reason = changed.reason, kept = changed.kept FROM changed WHERE jobs_job.id = changed.id
"""
