"""Queues over REST: the tree with its numbers and its jobs, new queues, other quotas."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from accounts.requests import client_address, reader_of
from accounts.selectors import team_by_slug
from jobs import serializers as shapes
from jobs.parsers import StrictJsonParser, mapping_of
from jobs.selectors import counts_by_queue
from jobs.spec_reading import Reading
from jobs.units import parse_milli, render_milli
from quotas.arithmetic import is_below
from quotas.selectors import QueueRow, queue_by_path, queue_tree
from quotas.services import create_queue, set_quota
from refusals import Invalid

QUOTA_KEYS = ("guarantee", "limit", "weight", "max_priority", "user_limit", "type_guarantees", "type_limits")
_MOST = 2**31 - 1


class QueueList(APIView):
    """The queue tree as far as the reader may see it."""

    parser_classes = [StrictJsonParser]

    @extend_schema(operation_id="queues_list", responses=shapes.QueueShape(many=True), tags=["queues"])
    def get(self, request: Request) -> Response:
        """The queues, parents before their children, with their numbers in devices."""
        rows = queue_tree(reader_of(request))
        counts = counts_by_queue()
        return Response({"results": [_row_json(row, rows, counts) for row in rows], "next": None})

    @extend_schema(
        operation_id="queues_create",
        request=shapes.NewQueueShape,
        responses={201: shapes.QueueShape},
        tags=["queues"],
    )
    def post(self, request: Request) -> Response:
        """Make a queue. Team admins make them below the team's own, platform admins anywhere."""
        user = reader_of(request)
        reading = Reading()
        body = reading.mapping(mapping_of(request), "", known=("path", "team", *QUOTA_KEYS))
        path = reading.text(body.get("path"), "path", max_length=200)
        if body.get("path") is None:
            reading.refuse("path", _("is required"))
        slug = reading.text(body.get("team"), "team", max_length=60)
        quota = read_quota(reading, body)
        _raise(reading)
        create_queue(
            user=user,
            path=path or "",
            team=team_by_slug(user, slug) if slug else None,
            address=client_address(request),
            now=timezone.now(),
            **quota,
        )
        return Response(_one(user, path or ""), status=201)


class QueueDetail(APIView):
    """One queue."""

    parser_classes = [StrictJsonParser]

    @extend_schema(
        operation_id="queues_retrieve",
        parameters=[OpenApiParameter("path", str, OpenApiParameter.PATH)],
        responses=shapes.QueueShape,
        tags=["queues"],
    )
    def get(self, request: Request, path: str) -> Response:
        """The queue with its numbers."""
        return Response(_one(reader_of(request), path))

    @extend_schema(
        operation_id="queues_change",
        parameters=[OpenApiParameter("path", str, OpenApiParameter.PATH)],
        request=shapes.QuotaShape,
        responses=shapes.QueueShape,
        tags=["queues"],
    )
    def patch(self, request: Request, path: str) -> Response:
        """Change its quota. Below what is in use it stops nothing, but admits nothing until use is less."""
        user = reader_of(request)
        reading = Reading()
        given = read_quota(reading, reading.mapping(mapping_of(request), "", known=QUOTA_KEYS))
        _raise(reading)
        queue_by_path(user, path)
        set_quota(user=user, path=path, address=client_address(request), now=timezone.now(), **given)
        return Response(_one(user, path))


def read_quota(reading: Reading, body: Mapping[str, object]) -> dict[str, Any]:
    """The given ones of a quota's numbers, under the service's names. A limit of null means none."""
    quota: dict[str, Any] = {}
    for key in ("guarantee", "limit", "user_limit"):
        if key in body:
            is_none = key != "guarantee" and body[key] is None
            quota[f"{key}_milli"] = None if is_none else _milli(reading, body[key], key)
    for key in ("type_guarantees", "type_limits"):
        if key in body:
            given = body[key] or {}
            amounts = reading.mapping(given, key, known=given if isinstance(given, dict) else ())
            quota[key] = {name: _milli(reading, value, f"{key}.{name}") for name, value in amounts.items()}
    for key in ("weight", "max_priority"):
        if key in body:
            quota[key] = reading.integer(body[key], key, low=0, high=_MOST, default=1)
    return quota


def _milli(reading: Reading, value: object, path: str) -> int:
    amount = parse_milli(value)
    if amount is None:
        reading.refuse(path, _("must be a number of accelerators with at most three decimals"))
    return amount or 0


def _raise(reading: Reading) -> None:
    if reading.problems:
        raise Invalid(details=reading.problems)


def _one(user: User, path: str) -> dict[str, Any]:
    rows = queue_tree(user)
    queue_by_path(user, path)
    row = next(row for row in rows if row.path == path)
    return _row_json(row, rows, counts_by_queue())


def _row_json(
    row: QueueRow, rows: list[QueueRow], counts: Mapping[UUID, Mapping[str, int]]
) -> dict[str, Any]:
    """Jobs are counted like use: with those of the queues below."""
    subtree = [other.id for other in rows if other.path == row.path or is_below(other.path, row.path)]
    return {
        "path": row.path,
        "team": row.team,
        "guarantee": render_milli(row.guarantee_milli),
        "limit": None if row.limit_milli is None else render_milli(row.limit_milli),
        "weight": row.weight,
        "max_priority": row.max_priority,
        "user_limit": None if row.user_limit_milli is None else render_milli(row.user_limit_milli),
        "type_guarantees": {name: render_milli(amount) for name, amount in row.type_guarantees.items()},
        "type_limits": {name: render_milli(amount) for name, amount in row.type_limits.items()},
        "used": render_milli(row.used_milli),
        "borrowed": render_milli(row.borrowed_milli),
        "pending": sum(counts.get(queue_id, {}).get("pending", 0) for queue_id in subtree),
        "running": sum(counts.get(queue_id, {}).get("running", 0) for queue_id in subtree),
        "manageable": row.is_manageable,
    }
