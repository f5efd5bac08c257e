"""The only writer of a job's state: row lock, version check, edge, effect and event in one transaction."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext_lazy as _

from eventlog.models import Event
from eventlog.services import append_event, append_events, published_together
from eventlog.wakeups import JOBS_CHANNEL, publish_after_commit, wake_tick
from jobs.errors import LostRace, WrongState
from jobs.explain import state_label
from jobs.lifecycle import TERMINAL, Cause, Charge, State, Trigger, backoff_seconds, escalates, next_state
from jobs.models import Job
from ray_runtime.protocol import StopIntent
from refusals import NotFound, Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What an effect did beside the job's row: the attempt it concerned, and numbers for the event."""

    attempt_id: UUID | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


# Runs inside the transaction, after the edge is found and before the job is written; may refuse.
Effect = Callable[[Job, datetime], Done]
# The same for several jobs at once; it answers for each, and writes nothing for those that it refuses.
TogetherEffect = Callable[[Sequence[Job], datetime], Mapping[UUID, Done | Refusal]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One wish to move a job. `expected_version` is for those who decided on an earlier reading of it."""

    trigger: Trigger
    cause: Cause
    actor_id: int | None = None
    expected_version: int | None = None
    intent: StopIntent | None = None  # with STOP
    charge: Charge = Charge.NOTHING
    effect: Effect | None = None


EVENT_KINDS: Mapping[Trigger, str] = {
    Trigger.PLACE: "placed",
    Trigger.START: "started",
    Trigger.STOP: "stop_ordered",
    Trigger.HOLD: "held",
    Trigger.RELEASE: "released",
    Trigger.REQUEUE: "requeued",
    Trigger.PARK: "held",
    Trigger.COMPLETE: "succeeded",
    Trigger.FAIL: "failed",
    Trigger.CANCEL: "cancelled",
}
# After these something may be placed that could not be before.
_FREES_OR_ASKS = frozenset(Trigger) - {Trigger.PLACE, Trigger.START, Trigger.STOP}


def lock_job(job_id: UUID) -> Job:
    """The job's row, locked until the transaction ends. NO KEY: rows that refer to it are not held up."""
    job = Job.objects.select_for_update(no_key=True).filter(id=job_id).first()
    if job is None:
        raise NotFound(kind=_("job"), id=str(job_id))
    return job


def transition(job_id: UUID, *, step: Step, now: datetime) -> Job:
    """Move one job along the edge of the step's trigger.

    Raises `NotFound`, `WrongState` (no such edge), `LostRace` (another version), or what the effect refuses;
    then nothing is changed.
    """
    with transaction.atomic():
        return transition_locked(lock_job(job_id), step=step, now=now)


def transition_many(steps: Mapping[UUID, Step], *, now: datetime) -> dict[UUID, Refusal | None]:
    """Move several jobs in one transaction; one that refuses stays as it is, and is answered so."""
    with transaction.atomic(), published_together(now=now):
        locked = _lock_all(steps)
        missing = {job_id: NotFound(kind=_("job"), id=str(job_id)) for job_id in steps.keys() - locked.keys()}
        return {**missing, **{job.id: _try(job, steps[job.id], now=now) for job in locked.values()}}


def place_all(
    steps: Mapping[UUID, Step], *, together: TogetherEffect, now: datetime
) -> dict[UUID, Refusal | None]:
    """`transition_many` for steps of PLACE, with one effect for all: a few statements, however many jobs.

    The rules are the same: row locks, versions, edges, and who is refused stays as it is.
    """
    with transaction.atomic():
        locked = _lock_all(steps)
        answers: dict[UUID, Refusal | None] = {
            job_id: NotFound(kind=_("job"), id=str(job_id)) for job_id in steps.keys() - locked.keys()
        }
        targets = {job.id: _target(job, steps[job.id]) for job in locked.values()}
        movable = [job for job in locked.values() if isinstance(targets[job.id], State)]
        done = together(movable, now)
        moved = [job for job in movable if isinstance(done[job.id], Done)]
        for job in moved:
            _set_columns(job, steps[job.id], State(str(targets[job.id])), now=now)
        _write_placed(moved, now=now)
        append_events([_event_of(job, steps[job.id], done[job.id], now=now) for job in moved], now=now)
    for job in locked.values():
        answer = done.get(job.id, targets[job.id])
        answers[job.id] = answer if isinstance(answer, Refusal) else None
    return answers


def _write_placed(jobs: Sequence[Job], *, now: datetime) -> None:
    """`_write` of locked rows that all take the edge of PLACE: what differs between them is counted up."""
    Job.objects.filter(id__in=[job.id for job in jobs]).update(
        state=State.STARTING,
        intent="",
        cause=Cause.PLACED,
        changed_by=None,
        changed_at=now,
        version=F("version") + 1,
        event_seq=F("event_seq") + 1,
        num_attempts=F("num_attempts") + 1,
        not_before=None,
        reason=None,
        kept=[],
        eta=None,
        reserved=None,
    )


def _target(job: Job, step: Step) -> State | Refusal:
    try:
        return _edge(job, step)
    except Refusal as refusal:
        return refusal


def _event_of(job: Job, step: Step, done: Done | Refusal, *, now: datetime) -> Event:
    assert isinstance(done, Done)
    publish_after_commit(JOBS_CHANNEL, {"job": str(job.id), "team": str(job.team_id)})
    return Event(
        job_id=job.id,
        seq=job.event_seq,
        kind=EVENT_KINDS[step.trigger],
        at=now,
        cause=step.cause,
        actor_id=step.actor_id,
        attempt_id=done.attempt_id,
        data={**_standing(job), **done.data},
    )


def transition_locked(job: Job, *, step: Step, now: datetime) -> Job:
    """`transition` for a row that the surrounding transaction has locked with `lock_job`."""
    target = _edge(job, step)
    done = step.effect(job, now) if step.effect else Done()
    _write(job, step, target, now=now)
    _append(
        job,
        EVENT_KINDS[step.trigger],
        now=now,
        cause=step.cause,
        actor_id=step.actor_id,
        attempt_id=done.attempt_id,
        data={**_standing(job), **done.data},
    )
    if step.trigger in _FREES_OR_ASKS:
        wake_tick()
    return job


def store_new(job: Job, *, now: datetime, actor_id: int, data: Mapping[str, Any]) -> None:
    """Insert a job that has just been submitted, with its first event, and let the engine look at it."""
    with transaction.atomic():
        job.event_seq = 1
        job.save(force_insert=True)
        _append(job, "submitted", now=now, cause=Cause.SUBMITTED, actor_id=actor_id, data=data)
        wake_tick()


def record_event(
    job: Job,
    kind: str,
    *,
    now: datetime,
    cause: str = "",
    actor_id: int | None = None,
    attempt_id: UUID | None = None,
    data: Mapping[str, Any] | None = None,
) -> None:
    """Append a fact that leaves the state as it is; the caller has locked the job's row."""
    job.event_seq += 1
    job.save(update_fields=["event_seq"])
    _append(job, kind, now=now, cause=cause, actor_id=actor_id, attempt_id=attempt_id, data=data)


def _append(job: Job, kind: str, *, now: datetime, **facts: Any) -> None:
    """Write the event whose number the job already carries; lists that show the job hear of it."""
    append_event(job_id=job.id, seq=job.event_seq, kind=kind, now=now, **facts)
    publish_after_commit(JOBS_CHANNEL, {"job": str(job.id), "team": str(job.team_id)})


def _lock_all(ids: Iterable[UUID]) -> dict[UUID, Job]:
    """In id order, so that two of these never wait for each other."""
    rows = Job.objects.select_related("code", "queue").select_for_update(no_key=True, of=("self",))
    rows = rows.filter(id__in=list(ids)).order_by("id")
    return {job.id: job for job in rows}


def _try(job: Job, step: Step, *, now: datetime) -> Refusal | None:
    try:
        with transaction.atomic():
            transition_locked(job, step=step, now=now)
    except Refusal as refusal:
        return refusal
    return None


def _edge(job: Job, step: Step) -> State:
    """Where the step leads. A stop under way is replaced by a stronger one only."""
    if step.expected_version not in (None, job.version):
        raise LostRace
    target = next_state(State(job.state), step.trigger)
    weaker = job.intent and step.intent and not escalates(StopIntent(job.intent), step.intent)
    if target is None or (step.trigger is Trigger.STOP and weaker):
        raise WrongState(state=state_label(job.state))
    return target


def _write(job: Job, step: Step, target: State, *, now: datetime) -> None:
    _set_columns(job, step, target, now=now)
    job.save(update_fields=_WRITTEN)


def _set_columns(job: Job, step: Step, target: State, *, now: datetime) -> None:
    job.state = target
    job.intent = str(step.intent or "") if target is State.STOPPING else ""
    job.cause = step.cause
    job.changed_by_id = step.actor_id
    job.changed_at = now
    job.version += 1
    job.event_seq += 1
    job.reason, job.kept, job.eta, job.reserved = None, [], None, None
    job.first_started_at = job.first_started_at or (now if step.trigger is Trigger.START else None)
    job.finished_at = now if target in TERMINAL else None
    job.not_before = _charge(job, step.charge, now=now)


_WRITTEN = (
    *("state", "intent", "cause", "changed_by", "changed_at", "version", "event_seq", "reason", "kept"),
    *("first_started_at", "finished_at", "not_before", "retries_used", "node_retries_used", "num_attempts"),
    *("eta", "reserved", "attained_milli_ms"),
)


def _charge(job: Job, charge: Charge, *, now: datetime) -> datetime | None:
    """Use up a retry of the kind; the time before which the job may not start again."""
    match charge:
        case Charge.NOTHING:
            return None
        case Charge.RETRY:
            job.retries_used += 1
            failures = job.retries_used
        case Charge.NODE_RETRY:
            job.node_retries_used += 1
            failures = job.node_retries_used
    return now + timedelta(seconds=backoff_seconds(failures))


def _standing(job: Job) -> dict[str, Any]:
    """The columns that `fold` rebuilds from the event."""
    return {
        "state": job.state,
        "intent": job.intent,
        "version": job.version,
        "retries_used": job.retries_used,
        "node_retries_used": job.node_retries_used,
        "num_attempts": job.num_attempts,
        "not_before": job.not_before.isoformat() if job.not_before else None,
    }
