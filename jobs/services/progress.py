"""What workers tell about themselves, taken in: numbers, progress, checkpoints. No state changes here."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import PurePosixPath

from artifacts.services import mark_checkpoint_damaged, record_checkpoint, retire_checkpoints
from jobs.models import Attempt, Job
from jobs.services.launch import checkpoint_dir
from jobs.services.transition import lock_job, record_event
from jobs.worker_events import Fact
from ray_runtime.protocol import WorkerEvent
from refusals import Refusal
from telemetry.services import record_points

# A checkpoint is told when its save is over, steps later, and a damaged one has no step of its own.
_TELL_THE_STEP = {WorkerEvent.STARTED, WorkerEvent.METRICS, WorkerEvent.FINISHED}


def take_facts(attempt: Attempt, *, rank: int, facts: Sequence[Fact], now: datetime) -> None:
    """Store what one worker's lines said, in the caller's transaction. Only rank 0 speaks for the job."""
    points = [(fact.step, fact.at, fact.values) for fact in facts if fact.kind is WorkerEvent.METRICS]
    if points:
        record_points(job_id=attempt.job_id, attempt_id=attempt.id, rank=rank, points=points, now=now)
    for fact in facts:
        match fact.kind:
            case WorkerEvent.CHECKPOINT:
                _take_checkpoint(attempt, fact, now=now)
            case WorkerEvent.DAMAGED:
                _take_damage(attempt, fact, now=now)
    if rank == 0:
        _take_progress(attempt, facts)


def _take_progress(attempt: Attempt, facts: Sequence[Fact]) -> None:
    """How far the job is. A straggler of an earlier attempt must not set a later one back."""
    started = [fact for fact in facts if fact.kind is WorkerEvent.STARTED]
    if started:
        Attempt.objects.filter(id=attempt.id).update(resumed_step=started[-1].resumed_from)
    steps = {"total_steps": started[-1].total_steps} if started and started[-1].total_steps else {}
    told = [fact.step for fact in facts if fact.kind in _TELL_THE_STEP]
    if told:
        newest = Job.objects.filter(id=attempt.job_id, num_attempts=attempt.number)
        newest.update(step=told[-1], **steps)


def _take_checkpoint(attempt: Attempt, fact: Fact, *, now: datetime) -> None:
    """Record a checkpoint that lies in the job's own folder; its word for any other counts for nothing."""
    if not _is_own(attempt, fact.path):
        return
    try:
        record_checkpoint(
            job_id=attempt.job_id,
            attempt_id=attempt.id,
            step=fact.step,
            path=fact.path,
            size_bytes=fact.size_bytes,
            now=fact.at,
        )
    except Refusal:
        return
    job = lock_job(attempt.job_id)
    retire_checkpoints(job_id=job.id, keep=job.spec["checkpoint"]["keep"])
    job.saved_at = max(filter(None, [job.saved_at, fact.at]))
    job.save(update_fields=["saved_at"])
    record_event(job, "checkpoint_saved", now=now, attempt_id=attempt.id, data={"step": fact.step})


def _take_damage(attempt: Attempt, fact: Fact, *, now: datetime) -> None:
    if mark_checkpoint_damaged(job_id=attempt.job_id, path=fact.path, problem=fact.why):
        job = lock_job(attempt.job_id)
        data = {"step": fact.step, "why": fact.why}
        record_event(job, "checkpoint_damaged", now=now, attempt_id=attempt.id, data=data)


def _is_own(attempt: Attempt, path: str) -> bool:
    """Whether the path is below the job's checkpoint folder, by its letters alone."""
    parts = PurePosixPath(path)
    own = PurePosixPath(checkpoint_dir(attempt.job_id))
    return own in parts.parents and ".." not in parts.parts
