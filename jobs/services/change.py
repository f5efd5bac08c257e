"""Changes to a job that leave its state alone: its priority; and its document, for a copy of it."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.models import User
from eventlog.wakeups import wake_tick
from jobs.errors import WrongState
from jobs.explain import state_label
from jobs.lifecycle import TERMINAL, State
from jobs.models import Job
from jobs.selectors import get_job
from jobs.services.stop import require_manager
from jobs.services.submit import priority_problems
from jobs.services.transition import lock_job, record_event
from refusals import Invalid


def change_priority(*, user: User, job_id: UUID, priority: int, now: datetime) -> Job:
    """Give a job that has not ended another priority, within the user's and the queue's ceilings.

    A decision that was made on the old priority is dropped: the version changes too.
    """
    with transaction.atomic():
        require_manager(user, get_job(user, job_id))
        job = lock_job(job_id)
        if job.state in TERMINAL:
            raise WrongState(state=state_label(job.state))
        if problems := priority_problems(user, job.queue, priority):
            raise Invalid(details=problems)
        if job.priority != priority:
            _write(job, priority, user=user, now=now)
    return job


def clone_document(job: Job) -> dict[str, Any]:
    """The document of a new job like this one: the same name, code and settings, the priority of now.

    Names need not be unique, so a clone of a clone keeps the name as it is. It waits for those jobs that its
    original waits for: those that succeeded are fulfilled, and one that failed is named again, so that the
    submission is refused as the first one would be now. One of an array is an ordinary job.
    """
    document = {**job.spec, "priority": job.priority}
    unfulfilled = job.dependencies.exclude(on__state=State.SUCCEEDED).values_list("on_id", flat=True)
    document.pop("depends_on", None)
    needed = sorted(map(str, unfulfilled))
    return {**document, **({"depends_on": needed} if needed else {})}


def _write(job: Job, priority: int, *, user: User, now: datetime) -> None:
    before, job.priority = job.priority, priority
    job.version += 1
    job.save(update_fields=["priority", "version"])
    data = {"from": before, "priority": priority, "version": job.version}
    record_event(job, "priority_changed", now=now, actor_id=user.pk, data=data)
    wake_tick()
