"""Which buttons a reader gets for a job. The services refuse whatever is not allowed; this only hides it."""

from dataclasses import dataclass

from accounts.models import User
from accounts.permissions import Action, allowed
from jobs.models import TERMINAL, Job


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedActions:
    """What this reader may do with this job now."""

    cancel: bool = False
    hold: bool = False
    release: bool = False
    change_priority: bool = False
    clone: bool = False
    delete: bool = False


def allowed_actions(user: User, job: Job) -> AllowedActions:
    """By the reader's role and the job's state."""
    manages = may_manage(user, job)
    has_ended = job.state in TERMINAL
    return AllowedActions(
        cancel=manages and not has_ended and job.intent != "cancel",
        hold=manages and job.state in ("queued", "starting", "running"),
        release=manages and job.state == "held",
        change_priority=manages and not has_ended,
        clone=allowed(user, Action.SUBMIT_JOB, team=job.team),
        delete=manages and has_ended,
    )


def may_manage(user: User, job: Job) -> bool:
    """Whether the reader may change this job at all: their own, or any of the team's."""
    if job.owner_id == user.pk and allowed(user, Action.MANAGE_OWN_JOB, team=job.team):
        return True
    return allowed(user, Action.MANAGE_ANY_JOB, team=job.team)
