"""The surviving history of a job's numbers: where a later attempt went over steps again, only its own."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import FloatField, Max, Min, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Extract

from telemetry.downsampling import Point, downsample
from telemetry.models import MetricPoint

RECENT = 50  # points in which `latest` looks for each name: not every step reports every number


def series(
    job_id: UUID, *, names: Sequence[str] | None = None, max_points: int = 2000, rank: int = 0
) -> dict[str, list[list[float | int | None]]]:
    """For each name its `[step, value, at_ms]` in step order, at most `max_points` of them.

    A value that was not finite is None. `names` None: every name that the newest points have.
    """
    wanted = list(latest_values(job_id, rank=rank)) if names is None else list(dict.fromkeys(names))
    points = surviving_points(job_id, rank=rank)
    return {
        name: [list(point) for point in downsample(_column(points, name), max_points=max_points)]
        for name in wanted
    }


def latest(job_id: UUID, *, rank: int = 0) -> dict[str, float | int | None]:
    """The newest number of each name, and the `step` of the newest point; empty before the first one."""
    values = latest_values(job_id, rank=rank)
    step = surviving_points(job_id, rank=rank).aggregate(step=Max("step"))["step"]
    return {**values, "step": step} if step is not None else {}


def latest_values(job_id: UUID, *, rank: int = 0) -> dict[str, float | None]:
    """The newest number of each name, in name order."""
    newest = surviving_points(job_id, rank=rank).order_by("-step").values_list("values", flat=True)[:RECENT]
    merged: dict[str, float | None] = {}
    for values in reversed(list(newest)):
        merged |= values
    return dict(sorted(merged.items()))


def first_and_last(job_id: UUID, name: str, *, rank: int = 0) -> tuple[float | None, float | None]:
    """The first and the last number of that name in the surviving history; None where there is none."""
    having = surviving_points(job_id, rank=rank).filter(values__has_key=name)
    values = having.annotate(number=_number(name)).values_list("number", flat=True)
    return values.order_by("step").first(), values.order_by("-step").first()


def surviving_points(job_id: UUID, *, rank: int = 0) -> QuerySet[MetricPoint]:
    """The points that count, in step order."""
    points = MetricPoint.objects.filter(job_id=job_id, rank=rank).order_by("step")
    kept = Q(pk__in=[])
    for attempt_id, end_step in _reaches(job_id, rank):
        of_attempt = Q(attempt_id=attempt_id)
        kept |= of_attempt if end_step is None else of_attempt & Q(step__lt=end_step)
    return points.filter(kept)


def _reaches(job_id: UUID, rank: int) -> list[tuple[UUID, int | None]]:
    """Each attempt with the step from which a later attempt replaces it (None: nowhere)."""
    attempts = (
        MetricPoint.objects.filter(job_id=job_id, rank=rank)
        .values("attempt_id")
        .annotate(first_step=Min("step"), first_at=Min("at"))
        .order_by("-first_at", "attempt_id")
    )
    reaches: list[tuple[UUID, int | None]] = []
    end_step: int | None = None
    for attempt in attempts:
        reaches.append((attempt["attempt_id"], end_step))
        end_step = min(attempt["first_step"], attempt["first_step"] if end_step is None else end_step)
    return reaches


def _column(points: QuerySet[MetricPoint], name: str) -> list[Point]:
    # The database makes plain numbers of them: a long run has some 100,000 points.
    having = points.filter(values__has_key=name).annotate(
        number=_number(name), seconds=Extract("at", "epoch")
    )
    columns = having.values_list("step", "number", "seconds")
    return [(step, number, int(seconds * 1000)) for step, number, seconds in columns]


def _number(name: str) -> Cast:
    return Cast(KeyTextTransform(name, "values"), FloatField())
