"""The end of an attempt, and what becomes of its job: the verdict of the lifecycle, carried out."""

from datetime import datetime

from jobs.lifecycle import Cause, Ending, Trigger, Verdict, verdict
from jobs.models import Job
from jobs.services.attempts import AttemptEnd, close_attempt
from jobs.services.transition import Step, transition_locked
from ray_runtime.protocol import StopIntent


def end_attempt(job: Job, end: AttemptEnd, *, now: datetime) -> Verdict:
    """Close the job's live attempt, give back its devices, and move the job on. The caller locked the job."""
    decision = verdict(_ending(job, end))
    follows_intent = bool(job.intent) and decision.trigger is not Trigger.COMPLETE
    step = Step(
        trigger=decision.trigger,
        cause=decision.cause,
        # Whoever asked for the stop is who ended it, however long the leaving took.
        actor_id=job.changed_by_id if follows_intent else None,
        charge=decision.charge,
        effect=close_attempt(end),
    )
    transition_locked(job, step=step, now=now)
    return decision


def _ending(job: Job, end: AttemptEnd) -> Ending:
    return Ending(
        cause=end.cause,
        finished=end.finished,
        intent=StopIntent(job.intent) if job.intent else None,
        stop_cause=Cause(job.cause) if job.intent else None,
        retries_left=job.retries - job.retries_used,
        node_retries_left=job.node_retries - job.node_retries_used,
    )
