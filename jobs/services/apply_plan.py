"""Carries out the engine's plan: few decisions in each short transaction, for the version they were made on.

A decision that lost its race is dropped and recorded; the next tick decides anew.
"""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from eventlog.selectors import events_of
from jobs.errors import CheckpointGone
from jobs.lifecycle import Cause, Trigger
from jobs.live import Reading, Told
from jobs.services.attempts import Place, open_attempts, order_stop
from jobs.services.launch import placement_rows
from jobs.services.transition import (
    Done,
    Step,
    lock_job,
    place_all,
    record_event,
    transition,
    transition_many,
)
from jobs.snapshot import milliseconds
from ray_runtime.protocol import StopIntent
from refusals import NotFound, Refusal
from scheduling.model import (
    Evict,
    EvictionKind,
    JobId,
    JobPhase,
    Plan,
    Reason,
    Reservation,
    Resize,
    Start,
)

logger = logging.getLogger(__name__)

AT_ONCE = 25  # decisions in one transaction
GROWS_AFTER = timedelta(minutes=10)

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
    num_resized: int = 0
    num_dropped: int = 0
    num_reasons: int = 0


def apply_plan(plan: Plan, reading: Reading, *, now: datetime) -> Applied:
    """Apply every decision of a plan that was made on this reading."""
    if plan.repairs:  # no job is told to lack workers, so none can be repaired
        logger.error("a plan repairs what cannot be repaired: %s", [repair.job for repair in plan.repairs])
    started = _start_all(plan.starts, reading, now=now)
    evicted = _carry_out({evict.job: _evict(evict, reading) for evict in plan.evictions}, now=now)
    resized = _carry_out(_resizes(plan, reading, now=now), now=now)
    return Applied(
        num_started=started.count(True),
        num_evicted=evicted.count(True),
        num_resized=resized.count(True),
        num_dropped=sum(done.count(False) for done in (started, evicted, resized)),
        num_reasons=_write_reasons(plan, reading),
    )


def _resizes(plan: Plan, reading: Reading, *, now: datetime) -> dict[JobId, Step]:
    """A running gang cannot change its size yet: it saves, leaves and starts again with another number.

    Shrinking makes room for somebody and is carried out at once. Growing costs the restart and serves only
    the gang itself, so it has to have run for a while; a gang that starts anew takes what is idle anyway.
    """
    running = {job.id: job for job in reading.snapshot.jobs if job.phase is JobPhase.PLACED}
    grows_before = milliseconds(now) - GROWS_AFTER // timedelta(milliseconds=1)
    steps = {}
    for resize in plan.resizes:
        job = running[resize.job]
        is_old = job.placed_at_ms is not None and job.placed_at_ms <= grows_before
        if len(resize.placement) < len(job.placement) or is_old:
            steps[resize.job] = _resize(resize, reading)
    return steps


def _resize(resize: Resize, reading: Reading) -> Step:
    told: dict[str, object] = {"workers": len(resize.placement)}
    told |= {"beneficiary": resize.beneficiary} if resize.beneficiary else {}
    return Step(
        trigger=Trigger.STOP,
        cause=Cause.RESIZED,
        expected_version=reading.versions.get(resize.job),
        intent=StopIntent.PREEMPT,
        effect=order_stop(StopIntent.PREEMPT, reason=Cause.RESIZED, data=told),
    )


def _start_all(starts: Sequence[Start], reading: Reading, *, now: datetime) -> list[bool]:
    """A burst of starts costs a few statements for each `AT_ONCE` of them, not a dozen for each job."""
    done = []
    for first in range(0, len(starts), AT_ONCE):
        few = starts[first : first + AT_ONCE]
        steps = {UUID(start.job): _start(start, reading) for start in few}
        effect = open_attempts({UUID(start.job): _place(start) for start in few})
        done += _told_refusals(place_all(steps, together=effect, now=now), steps, now=now)
    return done


def _place(start: Start) -> Place:
    return Place(placement=start.placement, accelerator_type=start.accelerator_type)


def _start(start: Start, reading: Reading) -> Step:
    return Step(trigger=Trigger.PLACE, cause=Cause.PLACED, expected_version=reading.versions.get(start.job))


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


def _carry_out(steps: Mapping[JobId, Step], *, now: datetime) -> list[bool]:
    """Which of the decisions were carried out: a few in each transaction, so that none is long."""
    given = [(UUID(job), step) for job, step in steps.items()]
    done = []
    for first in range(0, len(given), AT_ONCE):
        few = dict(given[first : first + AT_ONCE])
        done += _told_refusals(transition_many(few, now=now), few, now=now)
    return done


def _told_refusals(
    answers: Mapping[UUID, Refusal | None], steps: Mapping[UUID, Step], *, now: datetime
) -> list[bool]:
    """Which were carried out; what was refused is recorded."""
    for job_id, refusal in answers.items():
        if isinstance(refusal, CheckpointGone):
            _fail(job_id, refusal, steps[job_id], now=now)
        elif refusal is not None:
            _drop(job_id, refusal, steps[job_id], now=now)
    return [refusal is None for refusal in answers.values()]


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
    """Reason, kept devices, expected start of every job that waits on; only what changes is sent and written.

    Rows that somebody else has locked are skipped: what they become is the next tick's to explain.
    """
    told = {word.job: word for word in _words(plan, reading)}
    fresh = [word for word in told.values() if reading.told.get(word.job) != word]
    given = {str(word.job): _word_json(word) for word in fresh}
    written = _ids(_WRITE, given.values())
    settled = _ids(_ALREADY_SO, (row for key, row in given.items() if key not in written))
    reading.told.clear()
    reading.told.update(told)
    for key in given.keys() - written - settled:
        del reading.told[JobId(key)]
    return len(written)


def _ids(statement: str, rows: Iterable[dict[str, Any]]) -> set[str]:
    """The jobs that a statement about these rows returns."""
    given = list(rows)
    if not given:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(statement, [json.dumps(given)])
        return {str(row[0]) for row in cursor.fetchall()}


def _words(plan: Plan, reading: Reading) -> Iterator[Told]:
    kept = {keep.job: keep.placement for keep in plan.keeps}
    reserved = {row.job: row for row in plan.reservations}
    started = {start.job for start in plan.starts}
    waiting = [job.id for job in reading.snapshot.jobs if job.phase is JobPhase.WAITING]
    reasons = {**plan.reasons, **reading.outside}
    for job in (*waiting, *reading.outside):
        if job not in started:
            yield Told(
                job=job,
                version=reading.versions[job],
                reason=reasons.get(job),
                kept=kept.get(job, ()),
                eta=plan.etas.get(job),
                reserved=reserved.get(job),
            )


def _word_json(word: Told) -> dict[str, Any]:
    return {
        "id": word.job,
        "version": word.version,
        "reason": word.reason and _reason(word.reason),
        "kept": placement_rows(word.kept),
        "eta": word.eta and {"at_ms": word.eta.at_ms, "basis": word.eta.basis},
        "reserved": word.reserved and reservation_json(word.reserved),
    }


def _reason(reason: Reason) -> dict[str, Any]:
    return {"code": reason.code, "params": dict(reason.params), "help": reason.help}


def reservation_json(reservation: Reservation) -> dict[str, Any]:
    """A reservation as it is stored with its job and with the plan."""
    return {
        "placement": placement_rows(reservation.placement),
        "accelerator_type": reservation.accelerator_type,
        "starts_at_ms": reservation.starts_at_ms,
        "basis": reservation.basis,
    }


_GIVEN = """
WITH given AS (
    SELECT id, version, reason, kept, eta, reserved
    FROM jsonb_to_recordset(%s::jsonb)
      AS rows (id uuid, version int, reason jsonb, kept jsonb, eta jsonb, reserved jsonb)
)"""
_DIFFERS = """
ROW(job.reason, job.kept, job.eta, job.reserved)
IS DISTINCT FROM ROW(given.reason, given.kept, given.eta, given.reserved)"""
_WRITE = f"""{_GIVEN}, changed AS (
    SELECT given.*
    FROM jobs_job job JOIN given ON given.id = job.id AND given.version = job.version
    WHERE job.state = 'queued' AND {_DIFFERS}
    FOR NO KEY UPDATE OF job SKIP LOCKED
)
UPDATE jobs_job
SET reason = changed.reason, kept = changed.kept, eta = changed.eta, reserved = changed.reserved
FROM changed WHERE jobs_job.id = changed.id RETURNING jobs_job.id
"""
_ALREADY_SO = f"""{_GIVEN}
SELECT job.id FROM jobs_job job JOIN given ON given.id = job.id AND given.version = job.version
WHERE NOT {_DIFFERS}
"""
