"""Jobs that start only after others. If one of those fails or is cancelled, so is what waits for it."""

from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from jobs.lifecycle import WAITING, Cause, State, Trigger
from jobs.models import Dependency, Job
from jobs.services.transition import Done, Effect, Step, transition_many
from refusals import Conflict

FAILED = (State.FAILED, State.CANCELLED)


def cancel_dependents(*, now: datetime) -> int:
    """End the waiting jobs that can never start any more; how many. Theirs follow with the next call."""
    failed = Dependency.objects.filter(job__state__in=WAITING, on__state__in=FAILED)
    causes = dict(failed.order_by("-on_id").values_list("job_id", "on_id"))
    steps = {
        job_id: Step(trigger=Trigger.CANCEL, cause=Cause.DEPENDENCY_FAILED, effect=_because_of(on_id))
        for job_id, on_id in causes.items()
    }
    return list(transition_many(steps, now=now).values()).count(None) if steps else 0


def require_dependencies(job: Job) -> None:
    """Raise `Conflict` unless every job that this one depends on has succeeded."""
    if job.spec.get("depends_on") and job.dependencies.exclude(on__state=State.SUCCEEDED).exists():
        raise Conflict(why=_("a job that it depends on has not succeeded."))


def _because_of(on_id: UUID) -> Effect:
    return lambda _job, _now: Done(data={"depends_on": str(on_id)})
