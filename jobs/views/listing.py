"""The list of jobs: filtered, searched and paged by the server; the table alone when htmx asks again."""

from dataclasses import dataclass
from typing import Self
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import CharField, Count, Q, QuerySet
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from accounts.requests import reader_of
from accounts.selectors import teams_of
from jobs.models import PLACED, Job
from jobs.selectors import visible_jobs
from jobs.views.rows import job_row, with_row_data
from jobs.wire import uuid_or_none

PAGE_SIZE = 40
WAITING = ("queued", "held")
SHOWS: dict[str, tuple[str | Promise, Q]] = {
    "all": (_("All"), Q()),
    "waiting": (_("Waiting"), Q(state__in=WAITING)),
    "running": (_("Running"), Q(state__in=PLACED)),
    "succeeded": (_("Succeeded"), Q(state="succeeded")),
    "failed": (_("Failed"), Q(state="failed")),
    "cancelled": (_("Cancelled"), Q(state="cancelled")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFilter:
    """What the address asks for. Values that mean nothing are shown as no jobs, never as an error."""

    show: str = "all"
    search: str = ""
    team: str = ""
    queue: str = ""
    owner: str = ""
    array: str = ""
    mine: bool = False

    @classmethod
    def of(cls, query: QueryDict) -> Self:
        """The filter of a query string."""
        show = query.get("show", "all")
        return cls(
            show=show if show in SHOWS else "all",
            search=query.get("search", "").strip()[:200],
            team=query.get("team", ""),
            queue=query.get("queue", ""),
            owner=query.get("owner", ""),
            array=query.get("array", "")[:60],
            mine=query.get("mine") == "1",
        )

    @property
    def narrows(self) -> bool:
        """Whether anything but the state is asked for."""
        return bool(self.search or self.team or self.queue or self.owner or self.array or self.mine)

    def narrow(self, jobs: QuerySet[Job], *, user_id: int) -> QuerySet[Job]:
        """The jobs that match everything but `show`, so that the counts of the other states stay right."""
        if self.team:
            jobs = jobs.filter(team__slug=self.team)
        if self.queue:
            jobs = jobs.filter(queue__path=self.queue)
        if self.owner:
            jobs = jobs.filter(owner__username=self.owner)
        if self.array:
            array_id = uuid_or_none(self.array)
            jobs = jobs.filter(array_id=array_id) if array_id else jobs.none()
        if self.mine:
            jobs = jobs.filter(owner_id=user_id)
        return _search(jobs, self.search) if self.search else jobs


def _search(jobs: QuerySet[Job], text: str) -> QuerySet[Job]:
    """By part of the name, by the id or its beginning."""
    match = Q(name__icontains=text)
    if len(text) >= 4 and all(char in "0123456789abcdef-" for char in text.lower()):
        jobs = jobs.alias(id_text=Cast("id", CharField()))
        match |= Q(id_text__startswith=_dashed(text))
    return jobs.filter(match)


def _dashed(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        return text.lower()


@never_cache
@login_required
@require_GET
def list_jobs(request: HttpRequest) -> HttpResponse:
    """The page, or its table alone when a part of the page asks for fresh rows."""
    user, now = reader_of(request), timezone.now()
    chosen = ListFilter.of(request.GET)
    found = chosen.narrow(visible_jobs(user), user_id=user.pk)
    jobs = found.filter(SHOWS[chosen.show][1]).order_by("-submitted_at", "id")
    page = Paginator(with_row_data(jobs), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "section": "jobs",
        "now": now,
        "filter": chosen,
        "shows": _shows(found, chosen),
        "page": page,
        "rows": [job_row(job, now=now) for job in page.object_list],
    }
    if request.headers.get("HX-Request") == "true":
        return render(request, "jobs/_list.html", context)
    return render(request, "jobs/list.html", context | {"teams": teams_of(user)})


def _shows(found: QuerySet[Job], chosen: ListFilter) -> list[dict[str, object]]:
    counts = found.order_by().aggregate(
        **{f"num_{name}": Count("id", filter=condition) for name, (_label, condition) in SHOWS.items()}
    )
    return [
        {"name": name, "label": label, "count": counts[f"num_{name}"], "chosen": name == chosen.show}
        for name, (label, _condition) in SHOWS.items()
    ]
