"""Arrays over REST: one record to watch for all the jobs of one submission."""

from typing import Any
from uuid import UUID

from django.db.models import Count
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from accounts.requests import reader_of
from jobs import serializers as shapes
from jobs.lifecycle import TERMINAL
from jobs.models import JobArray
from jobs.parsers import StrictJsonParser
from jobs.selectors import get_array, visible_jobs
from jobs.services.stop import cancel_job


class ArrayDetail(APIView):
    """One array."""

    @extend_schema(operation_id="arrays_retrieve", responses=shapes.ArrayShape, tags=["jobs"])
    def get(self, request: Request, array_id: UUID) -> Response:
        """The array with its document, and how many of its jobs are in each state."""
        user = reader_of(request)
        return Response(_array_json(user, get_array(user, array_id)))


class ArrayCancel(APIView):
    """Ending all jobs of an array."""

    parser_classes = [StrictJsonParser]

    @extend_schema(operation_id="arrays_cancel", request=None, responses=shapes.ArrayShape, tags=["jobs"])
    def post(self, request: Request, array_id: UUID) -> Response:
        """Cancel every job of the array that has not ended. Safe to repeat."""
        user, now = reader_of(request), timezone.now()
        array = get_array(user, array_id)
        live = visible_jobs(user).filter(array=array).exclude(state__in=TERMINAL)
        for job_id in live.values_list("id", flat=True):
            cancel_job(user=user, job_id=job_id, now=now)
        return Response(_array_json(user, array))


def _array_json(user: User, array: JobArray) -> dict[str, Any]:
    jobs = visible_jobs(user).filter(array=array).order_by()
    return {
        "id": str(array.id),
        "name": array.name,
        "team": array.team.slug,
        "owner": array.owner.username,
        "size": array.size,
        "concurrent": array.cap,
        "states": dict(jobs.values_list("state").annotate(num=Count("id"))),
        "spec": array.spec,
        "submitted_at": array.submitted_at,
    }
