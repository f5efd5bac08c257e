"""The engine over REST: what would happen if, what is planned for a queue, by which policy, and what was."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from accounts.permissions import require_platform_admin
from accounts.requests import client_address, reader_of
from jobs import serializers as shapes
from jobs.explain_times import moment_of
from jobs.models import PlanRecord, SchedulingPolicy
from jobs.parsers import StrictJsonParser, mapping_of
from jobs.queues_api import QUOTA_KEYS, read_quota
from jobs.rendering import eta_json, planned_json, reason_json
from jobs.selectors import planned_jobs, visible_jobs
from jobs.services.policy import KEYS, change_policy, stored_policy
from jobs.services.simulate import Answer, Question, simulate
from jobs.spec_reading import Reading, join, shown
from jobs.units import render_milli
from quotas.selectors import queue_by_path
from refusals import Invalid
from scheduling.model import Eta, JobId, Plan, Reason

MOST_FORECAST = 500


class Simulate(APIView):
    """What would happen if."""

    parser_classes = [StrictJsonParser]

    @extend_schema(
        operation_id="simulate",
        request=shapes.QuestionShape,
        responses=shapes.AnswerShape,
        tags=["scheduling"],
    )
    def post(self, request: Request) -> Response:
        """Decide on a copy of the live state with these jobs, quotas and nodes; nothing is changed."""
        user = reader_of(request)
        answer = simulate(user=user, question=_question(mapping_of(request)), now=timezone.now())
        return Response(_answer_json(user, answer))


class QueueForecast(APIView):
    """What is planned for a queue."""

    @extend_schema(
        operation_id="queues_forecast",
        parameters=[OpenApiParameter("path", str, OpenApiParameter.PATH)],
        responses=shapes.ForecastShape(many=True),
        tags=["queues"],
    )
    def get(self, request: Request, path: str) -> Response:
        """The waiting jobs of the queue and those below it that the reader may see, in planned order."""
        user = reader_of(request)
        queue = queue_by_path(user, path)
        rows = [
            {
                "id": str(job.id),
                "name": job.name,
                "queue": job.queue.path,
                "priority": job.priority,
                "accelerators_total": render_milli(job.num_workers * job.accelerators_milli),
                "reason": reason_json(job.reason) if job.reason else None,
                "eta": eta_json(job.eta) if job.eta else None,
                "planned": planned_json(job),
            }
            for job in planned_jobs(user, queue.path)[:MOST_FORECAST]
        ]
        return Response({"results": rows, "next": None})


class PolicyDetail(APIView):
    """How the live engine decides."""

    parser_classes = [StrictJsonParser]

    @extend_schema(operation_id="policy_retrieve", responses=shapes.PolicyShape, tags=["scheduling"])
    def get(self, request: Request) -> Response:
        """The policy of the next plan."""
        reader_of(request)
        return Response(_policy_json(stored_policy()))

    @extend_schema(
        operation_id="policy_change",
        request=shapes.PolicyShape,
        responses=shapes.PolicyShape,
        tags=["scheduling"],
    )
    def patch(self, request: Request) -> Response:
        """Change some of its keys. For platform admins."""
        changed = change_policy(
            user=reader_of(request),
            changes=dict(mapping_of(request)),
            address=client_address(request),
            now=timezone.now(),
        )
        return Response(_policy_json(changed))


class PlanList(GenericAPIView[PlanRecord]):
    """What the live engine decided."""

    ordering = ("-at", "-id")

    @extend_schema(operation_id="plans_list", responses=shapes.PlanShape(many=True), tags=["scheduling"])
    def get(self, request: Request) -> Response:
        """The plans, the newest first; those in a row that say the same are one. For platform admins."""
        require_platform_admin(reader_of(request))
        page = self.paginate_queryset(PlanRecord.objects.order_by("-at", "-id")) or []
        return self.get_paginated_response([_plan_json(plan) for plan in page])


def _question(body: Mapping[str, object]) -> Question:
    reading = Reading()
    given = reading.mapping(body, "", known=("jobs", "quotas", "remove_nodes", "cordon_nodes"))
    quotas = given.get("quotas") or {}
    paths = reading.mapping(quotas, "quotas", known=quotas if isinstance(quotas, dict) else ())
    question = Question(
        jobs=_list(reading, given.get("jobs"), "jobs"),
        quotas={path: _columns(reading, path, change) for path, change in paths.items()},
        removed=_names(reading, given.get("remove_nodes"), "remove_nodes"),
        cordoned=_names(reading, given.get("cordon_nodes"), "cordon_nodes"),
    )
    if reading.problems:
        raise Invalid(details=reading.problems)
    return question


def _columns(reading: Reading, path: str, change: object) -> dict[str, Any]:
    """The engine's columns of a queue; the ceiling of its priorities is none of them."""
    part = reading.mapping(change, join("quotas", path), known=QUOTA_KEYS)
    inner = Reading()
    columns = read_quota(inner, part)
    for problem in inner.problems:
        reading.refuse(f"{join('quotas', path)}.{problem.path}", problem.problem)
    columns.pop("max_priority", None)
    return columns


def _list(reading: Reading, value: object, path: str) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        reading.refuse(path, _("must be a list, not %(given)s") % {"given": shown(value)})
        return []
    return value


def _names(reading: Reading, value: object, path: str) -> list[str]:
    names = _list(reading, value, path)
    if any(not isinstance(name, str) for name in names):
        reading.refuse(path, _("must be a list of names"))
    return [name for name in names if isinstance(name, str)]


def _answer_json(user: User, answer: Answer) -> dict[str, Any]:
    """The jobs supposed, each with what becomes of it; of the others only what differs from the present."""
    plan, present = answer.plan, answer.present
    starts, now_starts = ({start.job for start in each.starts} for each in (plan, present))
    evicted, now_evicted = ({row.job: row for row in each.evictions} for each in (plan, present))
    old = (present.reasons.keys() | now_starts) - set(answer.added)
    names = _names_of(user, {*starts, *now_starts, *evicted, *answer.interrupted, *old})
    return {
        "jobs": [_added_json(plan, key, starts) for key in answer.added],
        "evicted": [
            {**_named(names, key), "kind": row.kind, "beneficiary": row.beneficiary}
            for key, row in evicted.items()
            if key not in now_evicted
        ],
        "interrupted": [_named(names, key) for key in answer.interrupted],
        "starts": [_named(names, key) for key in sorted(starts - now_starts - set(answer.added))],
        "waits": [
            {**_named(names, key), **_waits_json(plan, key)}
            for key in sorted(plan.reasons.keys() - set(answer.added))
            if key in now_starts or plan.etas.get(key) != present.etas.get(key)
        ],
    }


def _added_json(plan: Plan, key: JobId, starts: set[JobId]) -> dict[str, Any]:
    if key in starts:
        return {"starts_now": True, "reason": None, "eta": None}
    return {"starts_now": False, **_waits_json(plan, key)}


def _waits_json(plan: Plan, key: JobId) -> dict[str, Any]:
    reason, eta = plan.reasons.get(key), plan.etas.get(key)
    return {"reason": _reason(reason) if reason else None, "eta": _eta(eta) if eta else None}


def _reason(reason: Reason) -> dict[str, Any]:
    return reason_json({"code": reason.code, "params": dict(reason.params), "help": reason.help})


def _eta(eta: Eta) -> dict[str, Any]:
    return eta_json({"at_ms": eta.at_ms, "basis": eta.basis})


def _names_of(user: User, keys: set[JobId]) -> dict[JobId, str]:
    found = visible_jobs(user).filter(id__in=[UUID(key) for key in keys]).values_list("id", "name")
    return {JobId(str(job_id)): name for job_id, name in found}


def _named(names: Mapping[JobId, str], key: JobId) -> dict[str, Any]:
    """Of another team's job only that there is one."""
    return {"id": key if key in names else None, "name": names.get(key)}


def _policy_json(row: SchedulingPolicy) -> dict[str, Any]:
    return {key: getattr(row, key) for key in KEYS}


def _plan_json(plan: PlanRecord) -> dict[str, Any]:
    names = ("num_jobs", "num_waiting", "num_starts", "num_evictions", "num_resizes", "num_keeps")
    return {
        "at": plan.at,
        "last_at": plan.last_at,
        "num_plans": plan.num_plans,
        "duration_ms": plan.duration_ms,
        "policy": plan.policy,
        **{name: getattr(plan, name) for name in names},
        "num_dropped": plan.num_dropped,
        "reservations": [
            {
                "job": row["job"],
                "starts_at": moment_of(row["starts_at_ms"]),
                "basis": row["basis"],
                "accelerator_type": row["accelerator_type"],
                "placement": row["placement"],
            }
            for row in plan.reservations
        ],
    }
