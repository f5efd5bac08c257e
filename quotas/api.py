"""`GET /api/v1/usage`: what was used, as JSON or CSV."""

from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.requests import reader_of
from quotas.exports import csv_bytes
from quotas.serializers import UsageQuestionSerializer, UsageSerializer
from quotas.usage import DIMENSIONS, UsageRow, usage
from refusals import Invalid, Problem

DEFAULT_DAYS = 30
MOST_DAYS = 366


class UsageView(APIView):
    """What the reader's teams used."""

    @extend_schema(parameters=[UsageQuestionSerializer], responses=UsageSerializer(many=True))
    def get(self, request: Request) -> HttpResponse:
        """Group by any of day, team, queue and user; days are those of `tz`."""
        question = UsageQuestionSerializer(data=request.query_params)
        question.is_valid(raise_exception=True)
        now = timezone.now()
        rows = usage(reader_of(request), now=now, **_asked(question.validated_data))
        if question.validated_data["format"] == "csv":
            return _csv(rows)
        return Response({"results": UsageSerializer(rows, many=True).data, "next": None})


def _asked(question: dict[str, Any]) -> dict[str, Any]:
    names = [name.strip() for name in question.get("by", ",".join(DIMENSIONS)).split(",")]
    zone_name = question.get("tz") or str(timezone.get_current_timezone())
    problems = []
    if unknown := [name for name in names if name not in DIMENSIONS]:
        known = {"given": ", ".join(unknown), "known": ", ".join(DIMENSIONS)}
        problems.append(Problem("by", _("has “%(given)s”, but must be some of: %(known)s") % known))
    if zone_name not in available_timezones():
        problems.append(Problem("tz", _("must be a time zone's name, for example Asia/Shanghai")))
    if problems:
        raise Invalid(details=problems)
    zone = ZoneInfo(zone_name)
    first, last = _span(question, today=timezone.localdate(timezone=zone))
    return {"by": names, "zone": zone, "first": first, "last": last}


def _span(question: dict[str, Any], *, today: date) -> tuple[date, date]:
    last: date = question.get("until") or today
    first: date = question.get("since") or last - timedelta(days=DEFAULT_DAYS - 1)
    if not 0 <= (last - first).days < MOST_DAYS:
        rule = _("must be at most %(most)d days before “until”, and not after it") % {"most": MOST_DAYS}
        raise Invalid(details=[Problem("since", rule)])
    return first, last


def _csv(rows: list[UsageRow]) -> HttpResponse:
    header = [*DIMENSIONS, "accelerator_hours", "num_attempts"]
    table = [[getattr(row, name) for name in header] for row in rows]
    response = HttpResponse(csv_bytes(header, table), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="usage.csv"'
    return response
