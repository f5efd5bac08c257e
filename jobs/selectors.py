"""Which jobs there are for one reader."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from django.db.models import BigIntegerField, Count, F, Q, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.selectors import teams_of
from jobs.lifecycle import PLACED, State
from jobs.models import Attempt, Job, JobArray, SchedulingPolicy
from refusals import NotFound

PLANNED_ORDER = (
    Coalesce(
        Cast(KT("eta__at_ms"), BigIntegerField()), Cast(KT("reserved__starts_at_ms"), BigIntegerField())
    ).asc(nulls_last=True),
    F("priority").desc(),
    F("submitted_at").asc(),
    F("id").asc(),
)


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


def get_array(user: User, array_id: UUID) -> JobArray:
    """One array with a job that the user may see; `NotFound` for any other and for none alike."""
    array = JobArray.objects.select_related("team", "owner").filter(id=array_id).first()
    if array is None or not visible_jobs(user).filter(array=array).exists():
        raise NotFound(kind=_("array"), id=str(array_id))
    return array


def newest_attempts(jobs: Iterable[Job]) -> dict[UUID, Attempt]:
    """Job id to its newest attempt, in one query; jobs that never had one are left out."""
    attempts = Attempt.objects.filter(job__in=list(jobs)).order_by("job_id", "-number").distinct("job_id")
    return {attempt.job_id: attempt for attempt in attempts}


def attempts_of(job: Job) -> QuerySet[Attempt]:
    """The job's attempts, the newest first."""
    return job.attempts.order_by("-number")


def planned_jobs(user: User, path: str | None = None) -> QuerySet[Job]:
    """The waiting jobs that the user may see, of a queue with those below it or of all, in planned order:
    by expected start, reserved or not; those of which it is unknown last, as they come.
    """
    waiting = visible_jobs(user).filter(state=State.QUEUED)
    if path is not None:
        waiting = waiting.filter(Q(queue__path=path) | Q(queue__path__startswith=f"{path}/"))
    return waiting.order_by(*PLANNED_ORDER)


def least_sizes(jobs: Iterable[UUID]) -> Mapping[UUID, int | None]:
    """Job id to the fewest workers with which it may start; None for rigid gangs."""
    return dict(Job.objects.filter(id__in=list(jobs)).values_list("id", "min_workers"))


def ahead_of(job: Job) -> int:
    """How many waiting jobs of its queue come before it: by priority, then by time of submission, then id."""
    waiting = Job.objects.filter(queue=job.queue, state=State.QUEUED).exclude(id=job.id)
    higher = waiting.filter(priority__gt=job.priority).count()
    before = Q(submitted_at__lt=job.submitted_at) | Q(submitted_at=job.submitted_at, id__lt=job.id)
    return higher + waiting.filter(before, priority=job.priority).count()


def usage_half_life_hours() -> int:
    """How fast past usage of queues is forgotten; 0: it does not count."""
    return SchedulingPolicy.objects.values_list("usage_half_life_hours", flat=True).first() or 0


def counts_by_queue() -> Mapping[UUID, Mapping[str, int]]:
    """Queue id to its own numbers of `pending` (queued) and `running` (holding devices) jobs."""
    live = Job.objects.filter(state__in=[State.QUEUED, *PLACED]).order_by()
    counts: dict[UUID, dict[str, int]] = {}
    for queue_id, state, num in live.values_list("queue_id", "state").annotate(num=Count("id")):
        row = counts.setdefault(queue_id, {"pending": 0, "running": 0})
        row["pending" if state == State.QUEUED else "running"] += num
    return counts
