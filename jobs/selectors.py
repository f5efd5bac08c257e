"""Which jobs there are for one reader."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from django.db.models import Count, QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.selectors import teams_of
from jobs.lifecycle import PLACED, State
from jobs.models import Attempt, Job
from refusals import NotFound


def visible_jobs(user: User) -> QuerySet[Job]:
    """The jobs of the user's teams, newest first; a platform admin sees all teams. Deleted ones are gone."""
    jobs = Job.objects.filter(deleted_at__isnull=True)
    if not (user.is_platform_admin and user.is_active):
        jobs = jobs.filter(team__in=teams_of(user))
    return jobs.select_related("team", "queue", "owner", "changed_by").order_by("-submitted_at", "id")


def get_job(user: User, job_id: UUID) -> Job:
    """One job that the user may see; `NotFound` for any other and for none alike."""
    job = visible_jobs(user).filter(id=job_id).first()
    if job is None:
        raise NotFound(kind=_("job"), id=str(job_id))
    return job


def newest_attempts(jobs: Iterable[Job]) -> dict[UUID, Attempt]:
    """Job id to its newest attempt, in one query; jobs that never had one are left out."""
    attempts = Attempt.objects.filter(job__in=list(jobs)).order_by("job_id", "-number").distinct("job_id")
    return {attempt.job_id: attempt for attempt in attempts}


def attempts_of(job: Job) -> QuerySet[Attempt]:
    """The job's attempts, the newest first."""
    return job.attempts.order_by("-number")


def ahead_of(job: Job) -> int:
    """How many waiting jobs of its queue come before it: by priority, then by time of submission."""
    waiting = Job.objects.filter(queue=job.queue, state=State.QUEUED).exclude(id=job.id)
    higher = waiting.filter(priority__gt=job.priority).count()
    earlier = waiting.filter(priority=job.priority, submitted_at__lt=job.submitted_at).count()
    return higher + earlier


def counts_by_queue() -> Mapping[UUID, Mapping[str, int]]:
    """Queue id to its own numbers of `pending` (queued) and `running` (holding devices) jobs."""
    live = Job.objects.filter(state__in=[State.QUEUED, *PLACED]).order_by()
    counts: dict[UUID, dict[str, int]] = {}
    for queue_id, state, num in live.values_list("queue_id", "state").annotate(num=Count("id")):
        row = counts.setdefault(queue_id, {"pending": 0, "running": 0})
        row["pending" if state == State.QUEUED else "running"] += num
    return counts
