"""What belongs to one job over REST: attempts, events, checkpoints, outputs, numbers, explanation."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from accounts.requests import reader_of
from artifacts.downloads import attachment_headers
from artifacts.models import Checkpoint, Output
from artifacts.scratch import chunks_of
from artifacts.selectors import checkpoints_of, output_of, outputs_of
from artifacts.services import open_output
from eventlog.models import Event
from eventlog.selectors import events_of
from jobs import serializers as shapes
from jobs.lifecycle import State
from jobs.models import Attempt, Job
from jobs.query_params import integer
from jobs.rendering import (
    attempt_json,
    checkpoint_json,
    eta_json,
    event_json,
    job_reason,
    output_json,
    planned_json,
)
from jobs.selectors import ahead_of, attempts_of, get_job
from jobs.units import render_milli
from telemetry.selectors import latest, series

MOST_NAMES = 50
MOST_POINTS = 10_000


class JobAttempts(GenericAPIView[Attempt]):
    """The runs of a job."""

    ordering = ("-number",)

    @extend_schema(operation_id="jobs_attempts", responses=shapes.AttemptShape(many=True), tags=["jobs"])
    def get(self, request: Request, job_id: UUID) -> Response:
        """Its attempts, the newest first."""
        job = get_job(reader_of(request), job_id)
        page = self.paginate_queryset(attempts_of(job)) or []
        return self.get_paginated_response([attempt_json(attempt) for attempt in page])


class JobEvents(GenericAPIView[Event]):
    """What happened to a job."""

    ordering = ("seq",)

    @extend_schema(
        operation_id="jobs_events",
        parameters=[OpenApiParameter("after", int, description="Only events after this number.")],
        responses=shapes.EventShape(many=True),
        tags=["jobs"],
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Its events in order."""
        job = get_job(reader_of(request), job_id)
        after = integer(request, "after", low=0, high=2**31 - 1, default=0)
        page = self.paginate_queryset(events_of(job.id, after_seq=after)) or []
        actors = _names(event.actor_id for event in page)
        return self.get_paginated_response([event_json(event, actors=actors) for event in page])


class JobCheckpoints(GenericAPIView[Checkpoint]):
    """What a job saved."""

    ordering = ("-step", "id")

    @extend_schema(
        operation_id="jobs_checkpoints", responses=shapes.CheckpointShape(many=True), tags=["jobs"]
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Its checkpoints, the newest step first."""
        job = get_job(reader_of(request), job_id)
        page = self.paginate_queryset(checkpoints_of(job.id)) or []
        return self.get_paginated_response([checkpoint_json(checkpoint) for checkpoint in page])


class JobOutputs(GenericAPIView[Output]):
    """The files that a job left."""

    ordering = ("path", "created_at", "id")

    @extend_schema(operation_id="jobs_outputs", responses=shapes.OutputShape(many=True), tags=["jobs"])
    def get(self, request: Request, job_id: UUID) -> Response:
        """Its files by path."""
        job = get_job(reader_of(request), job_id)
        page = self.paginate_queryset(outputs_of(job.id)) or []
        return self.get_paginated_response([output_json(output) for output in page])


class JobOutput(APIView):
    """One file that a job left."""

    @extend_schema(
        operation_id="jobs_output",
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
        tags=["jobs"],
    )
    def get(self, request: Request, job_id: UUID, output_id: UUID) -> StreamingHttpResponse:
        """The file's bytes, to be saved under its exact name."""
        output = output_of(get_job(reader_of(request), job_id).id, output_id)
        headers = {**attachment_headers(output.path), "Content-Length": str(output.size_bytes)}
        return StreamingHttpResponse(chunks_of(open_output(output)), headers=headers)


class JobExplanation(APIView):
    """Why a job is where it is."""

    @extend_schema(operation_id="jobs_explain", responses=shapes.ExplanationShape, tags=["jobs"])
    def get(self, request: Request, job_id: UUID) -> Response:
        """The reason with its numbers, how many jobs are ahead in its queue, and where the queue stands."""
        job = get_job(reader_of(request), job_id)
        reason = job_reason(job, attempts_of(job).first(), now=timezone.now())
        ahead = ahead_of(job) if job.state == State.QUEUED else None
        return Response(
            {
                "state": job.state,
                "reason": reason,
                "eta": eta_json(job.eta) if job.eta else None,
                "planned": planned_json(job),
                "ahead": ahead,
                "queue": _standing(job),
            }
        )


class JobMetrics(APIView):
    """What a job measured about itself."""

    @extend_schema(
        operation_id="jobs_metrics",
        parameters=[
            OpenApiParameter("names", str, description="Comma separated; all when left out."),
            OpenApiParameter("max_points", int, description="Of each series; more are thinned out."),
        ],
        responses=shapes.MetricsShape,
        tags=["jobs"],
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Each series as `[step, value, at_ms]`, and the newest number of each name."""
        job = get_job(reader_of(request), job_id)
        named = [name for name in request.query_params.get("names", "").split(",") if name][:MOST_NAMES]
        max_points = integer(request, "max_points", low=2, high=MOST_POINTS, default=1000)
        found = series(job.id, names=named or None, max_points=max_points)
        return Response({"series": found, "latest": latest(job.id)})


def _names(user_ids: Iterable[int | None]) -> dict[int, str]:
    ids = {user_id for user_id in user_ids if user_id is not None}
    return dict(User.objects.filter(id__in=ids).values_list("id", "username"))


def _standing(job: Job) -> dict[str, Any]:
    limit = job.queue.limit_milli
    return {
        "path": job.queue.path,
        "used": render_milli(job.queue.used_milli),
        "guarantee": render_milli(job.queue.guarantee_milli),
        "limit": None if limit is None else render_milli(limit),
    }
