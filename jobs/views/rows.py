"""A job as one row of a table: what lists on several pages show of it."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, QuerySet, Subquery

from jobs.explain_times import basis_label, moment_of
from jobs.models import PLACED, TERMINAL, Attempt, Job
from jobs.rendering import job_reason
from telemetry.models import MetricPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job with what its row needs beside its own columns."""

    job: Job
    why: str  # why it waits, in the reader's language; empty unless it waits
    loss: float | None  # as last reported
    starts_at: datetime | None = None  # is expected to, while it waits
    starts_on: str = ""  # what that rests on, in the reader's language
    is_reserved: bool = False  # at a place and a time that nobody behind may delay

    @property
    def devices_milli(self) -> int:
        """Accelerators of the whole gang."""
        return self.job.num_workers * self.job.accelerators_milli

    @property
    def is_live(self) -> bool:
        """Whether its figures still move."""
        return self.job.state in PLACED

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.job.state in TERMINAL


def with_row_data(jobs: QuerySet[Job]) -> QuerySet[Job]:
    """The same jobs, read together with all that `job_rows` shows: one query, whatever their number."""
    attempt = Attempt.objects.filter(job_id=OuterRef("id")).order_by("-number").values("id")[:1]
    points = MetricPoint.objects.filter(attempt_id=OuterRef("newest_attempt"), rank=0).order_by("-step")
    return (
        jobs.select_related(None)
        .select_related("team", "queue", "owner")
        .alias(newest_attempt=Subquery(attempt))
        .annotate(newest_values=Subquery(points.values("values")[:1]))
    )


def job_rows(jobs: QuerySet[Job], *, now: datetime) -> list[JobRow]:
    """The rows of these jobs, in their order."""
    return [job_row(job, now=now) for job in with_row_data(jobs)]


def job_row(job: Job, *, now: datetime) -> JobRow:
    """One row; the job comes from `with_row_data`."""
    reason = job_reason(job, None, now=now) if job.state == "queued" else None
    eta = job.eta or {}
    values = getattr(job, "newest_values", None) or {}
    return JobRow(
        job=job,
        why=(reason or {}).get("text", ""),
        loss=values.get("loss"),
        starts_at=moment_of(eta["at_ms"]) if eta.get("at_ms") is not None else None,
        starts_on=basis_label(eta["basis"]) if eta else "",
        is_reserved=job.reserved is not None,
    )
