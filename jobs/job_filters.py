"""Which of the jobs a list asks for."""

import re
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.requests import reader_of
from jobs.lifecycle import State
from jobs.models import Job
from jobs.query_params import flag
from jobs.selectors import visible_jobs
from refusals import Invalid, Problem

LONGEST_SEARCH = 200
_ID_BEGINNING = re.compile("[0-9a-f]{4,32}")

FILTERS = [
    OpenApiParameter("state", str, many=True, enum=[state.value for state in State]),
    OpenApiParameter("queue", str, description="A queue's path; jobs of the queues below it count too."),
    OpenApiParameter("team", str, description="A team's slug."),
    OpenApiParameter("owner", str, description="A user name."),
    OpenApiParameter(
        "search", str, description="A part of the name, or of an id: four digits or more of its beginning."
    ),
    OpenApiParameter("array", str, description="The id of an array: only its jobs."),
    OpenApiParameter("mine", bool, description="Only the caller's own."),
    OpenApiParameter("limit", int, description="Jobs per page, at most 200."),
    OpenApiParameter("cursor", str, description="From `next` of the page before."),
]


def filtered_jobs(request: Request) -> QuerySet[Job]:
    """The visible jobs that match every filter of the address."""
    user, params = reader_of(request), request.query_params
    jobs = visible_jobs(user)
    if states := params.getlist("state"):
        jobs = jobs.filter(state__in=_known(states))
    if queue := params.get("queue"):
        jobs = jobs.filter(Q(queue__path=queue) | Q(queue__path__startswith=f"{queue}/"))
    if team := params.get("team"):
        jobs = jobs.filter(team__slug=team)
    if owner := params.get("owner"):
        jobs = jobs.filter(owner__username=owner)
    if array := params.get("array"):
        jobs = jobs.filter(array_id=_array_id(array))
    if search := params.get("search", "").strip():
        jobs = jobs.filter(_matches(search[:LONGEST_SEARCH]))
    return jobs.filter(owner=user) if flag(request, "mine") else jobs


def _array_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Invalid(details=[Problem("array", _("is not an id"))]) from None


def _known(states: list[str]) -> list[str]:
    unknown = [state for state in states if state not in list(State)]
    if unknown:
        allowed = {"allowed": ", ".join(State)}
        raise Invalid(details=[Problem("state", _("must be one of %(allowed)s") % allowed)])
    return states


def _matches(search: str) -> Q:
    """A part of the name, or the beginning of the id, which is a range of the primary key."""
    name, digits = Q(name__icontains=search), search.replace("-", "").lower()
    if not _ID_BEGINNING.fullmatch(digits):
        return name
    return name | Q(id__range=(UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))))
