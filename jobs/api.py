"""Jobs over REST: list, submit, look, change, act. What belongs to one job is in `job_parts_api.py`."""

import hashlib
import json
from typing import Any
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.generics import GenericAPIView
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.requests import reader_of
from jobs import serializers as shapes
from jobs.job_filters import FILTERS, filtered_jobs
from jobs.models import Job
from jobs.parsers import StrictJsonParser, XYamlParser, YamlParser, mapping_of, submitted
from jobs.rendering import eta_json, job_detail_json, job_json, reason_json
from jobs.selectors import attempts_of, get_job, newest_attempts
from jobs.services.change import change_priority, clone_document
from jobs.services.preview import Preview, preview_job
from jobs.services.stop import Outcome, cancel_job, delete_job, hold_job, release_job
from jobs.services.submit import submit_job, submit_upload
from jobs.spec import read_priority
from jobs.spec_schema import SCHEMA
from refusals import Invalid, Problem

ACTS = {"cancel": cancel_job, "hold": hold_job, "release": release_job}
DOCUMENT_PARSERS = [StrictJsonParser, YamlParser, XYamlParser, MultiPartParser]


class JobList(GenericAPIView[Job]):
    """The jobs of the reader's teams, and new ones."""

    parser_classes = DOCUMENT_PARSERS
    ordering = ("-submitted_at", "id")

    @extend_schema(
        operation_id="jobs_list", parameters=FILTERS, responses=shapes.JobShape(many=True), tags=["jobs"]
    )
    def get(self, request: Request) -> Response:
        """The jobs that match, newest first."""
        now = timezone.now()
        page = self.paginate_queryset(filtered_jobs(request)) or []
        attempts = newest_attempts(page)
        return self.get_paginated_response([job_json(job, attempts.get(job.id), now=now) for job in page])

    @extend_schema(
        operation_id="jobs_create",
        request={
            "application/json": {"type": "object"},
            "application/yaml": {"type": "object"},
            "multipart/form-data": shapes.SubmissionShape,
        },
        responses={201: shapes.JobDetailShape},
        tags=["jobs"],
    )
    def post(self, request: Request) -> Response:
        """Submit a job: its document as JSON or YAML, or in a form with the archive of its code."""
        document, upload = submitted(request)
        job = submit_upload(user=reader_of(request), document=document, upload=upload, now=timezone.now())
        return _created(job)


class JobValidate(APIView):
    """A dry run of a submission."""

    parser_classes = DOCUMENT_PARSERS

    @extend_schema(
        operation_id="jobs_validate",
        request={"application/json": {"type": "object"}, "application/yaml": {"type": "object"}},
        responses=shapes.PreviewShape,
        tags=["jobs"],
    )
    def post(self, request: Request) -> Response:
        """Whether the document is good, and whether its job would start now or why it would wait."""
        document, upload = submitted(request)
        if isinstance(document, dict) and upload is not None:
            document = {**document, "code": None}
        preview = preview_job(user=reader_of(request), document=document, now=timezone.now())
        return Response(_preview_json(preview))


class JobDetail(APIView):
    """One job."""

    parser_classes = [StrictJsonParser]

    @extend_schema(operation_id="jobs_retrieve", responses=shapes.JobDetailShape, tags=["jobs"])
    def get(self, request: Request, job_id: UUID) -> Response:
        """The job with its document. Answers 304 to `If-None-Match` while nothing of it has changed."""
        body = _detail(get_job(reader_of(request), job_id))
        tag = _etag(body)
        if request.headers.get("If-None-Match") == tag:
            return Response(status=304, headers={"ETag": tag})
        return Response(body, headers={"ETag": tag})

    @extend_schema(
        operation_id="jobs_change",
        request=shapes.PriorityShape,
        responses=shapes.JobDetailShape,
        tags=["jobs"],
    )
    def patch(self, request: Request, job_id: UUID) -> Response:
        """Change the priority: a number from 0 to 1000 or low, normal, high, urgent."""
        body = mapping_of(request)
        if unknown := sorted(map(str, body.keys() - {"priority"})):
            raise Invalid(details=[Problem(key, _("cannot be changed")) for key in unknown])
        job = change_priority(
            user=reader_of(request), job_id=job_id, priority=read_priority(body), now=timezone.now()
        )
        return Response(_detail(job))

    @extend_schema(operation_id="jobs_delete", responses={204: None}, tags=["jobs"])
    def delete(self, request: Request, job_id: UUID) -> Response:
        """Hide the record of a job that has ended."""
        delete_job(user=reader_of(request), job_id=job_id, now=timezone.now())
        return Response(status=204)


class JobAct(APIView):
    """Cancel, hold, release. Safe to repeat."""

    parser_classes = [StrictJsonParser]

    @extend_schema(
        operation_id="jobs_act",
        parameters=[OpenApiParameter("act", str, OpenApiParameter.PATH, enum=sorted(ACTS))],
        request=None,
        responses={200: shapes.ActionShape, 202: shapes.ActionShape},
        tags=["jobs"],
    )
    def post(self, request: Request, job_id: UUID, act: str) -> Response:
        """202: under way, the job is stopping. 200: done, or nothing was to be done, which `notice` says."""
        outcome = ACTS[act](user=reader_of(request), job_id=job_id, now=timezone.now())
        return Response(_outcome_json(outcome), status=202 if outcome.changed and outcome.job.intent else 200)


class JobClone(APIView):
    """A new job like an old one."""

    parser_classes = [StrictJsonParser]

    @extend_schema(
        operation_id="jobs_clone", request=None, responses={201: shapes.JobDetailShape}, tags=["jobs"]
    )
    def post(self, request: Request, job_id: UUID) -> Response:
        """Submit the same document again, for the caller; the name stays as it is."""
        user = reader_of(request)
        job = get_job(user, job_id)
        return _created(submit_job(user=user, document=clone_document(job), code=None, now=timezone.now()))


class JobSchema(APIView):
    """What a job file may say."""

    @extend_schema(operation_id="schema_job", responses={200: {"type": "object"}}, tags=["schema"])
    def get(self, request: Request) -> Response:
        """The JSON Schema of a job file."""
        return Response(SCHEMA)


def _created(job: Job) -> Response:
    return Response(_detail(job), status=201, headers={"Location": f"/api/v1/jobs/{job.id}"})


def _detail(job: Job) -> dict[str, Any]:
    return job_detail_json(job, list(attempts_of(job)), now=timezone.now())


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    return {**_detail(outcome.job), "notice": str(outcome.notice)}


def _preview_json(preview: Preview) -> dict[str, Any]:
    details = [{"path": item.path, "problem": str(item.problem)} for item in preview.problems]
    if not preview.is_valid:
        return {"valid": False, "details": details, "predicted": None}
    reason, eta = preview.reason, preview.eta
    stored = {"code": reason.code, "params": dict(reason.params), "help": reason.help} if reason else None
    return {
        "valid": True,
        "details": [],
        "predicted": {
            "starts_now": preview.starts_now,
            "reason": reason_json(stored) if stored else None,
            "predicted_start": preview.starts_at,
            "eta": eta_json({"at_ms": eta.at_ms, "basis": eta.basis}) if eta else None,
        },
    }


def _etag(body: dict[str, Any]) -> str:
    """Of what the reader gets, the language of its sentences included."""
    text = json.dumps([get_language(), body], cls=DjangoJSONEncoder, sort_keys=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
