"""What people do to a job's run: cancel, hold, release, delete its record. Each is safe to repeat."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.permissions import Action, require
from jobs.errors import WrongState
from jobs.explain import state_label
from jobs.lifecycle import PLACED, TERMINAL, Cause, State, Trigger
from jobs.models import Job
from jobs.selectors import get_job
from jobs.services.attempts import order_stop
from jobs.services.transition import Step, lock_job, record_event, transition_locked
from ray_runtime.protocol import StopIntent


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The job afterwards, and whether this call changed it; if not, `notice` says why that is fine."""

    job: Job
    changed: bool = True
    notice: str | Promise = ""


def cancel_job(*, user: User, job_id: UUID, now: datetime) -> Outcome:
    """End the job for good: at once while it waits, else by a stop order. A repeat changes nothing.

    Raises `NotFound`, `Forbidden`, and `WrongState` for a job that has ended otherwise.
    """
    with transaction.atomic():
        job = _lock(user, job_id)
        if job.state == State.CANCELLED:
            return Outcome(job=job, changed=False, notice=_("It is already cancelled."))
        if job.intent == StopIntent.CANCEL:
            return Outcome(job=job, changed=False, notice=_("It is already stopping."))
        if job.state in PLACED:
            return _order_stop(job, StopIntent.CANCEL, Cause.USER_CANCELLED, user, now=now)
        return _move(job, Trigger.CANCEL, Cause.USER_CANCELLED, user, now=now)


def hold_job(*, user: User, job_id: UUID, now: datetime) -> Outcome:
    """Set the job aside until it is released: at once while it waits, else it saves and leaves first."""
    with transaction.atomic():
        job = _lock(user, job_id)
        if job.state == State.HELD or job.intent == StopIntent.HOLD:
            return Outcome(job=job, changed=False, notice=_("It is already held, or about to be."))
        if job.state in PLACED:
            return _order_stop(job, StopIntent.HOLD, Cause.USER_HELD, user, now=now)
        return _move(job, Trigger.HOLD, Cause.USER_HELD, user, now=now)


def release_job(*, user: User, job_id: UUID, now: datetime) -> Outcome:
    """Let a held job wait for devices again, at the place of its first submission."""
    with transaction.atomic():
        job = _lock(user, job_id)
        if job.state == State.QUEUED:
            return Outcome(job=job, changed=False, notice=_("It is not held."))
        return _move(job, Trigger.RELEASE, Cause.USER_RELEASED, user, now=now)


def delete_job(*, user: User, job_id: UUID, now: datetime) -> None:
    """Hide the record of a job that has ended. Its devices went back when it ended; nothing is freed here."""
    with transaction.atomic():
        job = _lock(user, job_id)
        if job.state not in TERMINAL:
            raise WrongState(state=state_label(job.state))
        job.deleted_at = now
        job.save(update_fields=["deleted_at"])
        record_event(job, "deleted", now=now, actor_id=user.pk, data={"deleted_at": now.isoformat()})


def require_manager(user: User, job: Job) -> None:
    """Members manage their own jobs, team admins all of the team's."""
    action = Action.MANAGE_OWN_JOB if job.owner_id == user.pk else Action.MANAGE_ANY_JOB
    require(user, action, team=job.team, kind=_("job"), id=job.id)


def _lock(user: User, job_id: UUID) -> Job:
    require_manager(user, get_job(user, job_id))
    return lock_job(job_id)


def _move(job: Job, trigger: Trigger, cause: Cause, user: User, *, now: datetime) -> Outcome:
    step = Step(trigger=trigger, cause=cause, actor_id=user.pk)
    return Outcome(job=transition_locked(job, step=step, now=now))


def _order_stop(job: Job, intent: StopIntent, cause: Cause, user: User, *, now: datetime) -> Outcome:
    step = Step(
        trigger=Trigger.STOP,
        cause=cause,
        actor_id=user.pk,
        intent=intent,
        effect=order_stop(intent, reason=cause),
    )
    return Outcome(job=transition_locked(job, step=step, now=now))
