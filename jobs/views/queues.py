"""The queues with what waits and runs in each: the numbers are `quotas`', the jobs are ours."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from accounts.models import User
from accounts.requests import reader_of
from cluster.selectors import Totals, totals
from jobs.models import PLACED
from jobs.selectors import planned_jobs, visible_jobs
from jobs.views.rows import JobRow, job_row, with_row_data
from quotas.selectors import QueueRow, queue_tree

MAX_WAITING = 500  # jobs read for the page
SHOWN_WAITING = 8  # of them in each queue


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """A queue with its jobs."""

    row: QueueRow
    num_running: int
    num_waiting: int
    num_held: int
    waiting: Sequence[JobRow]  # the first of them, in planned order
    own_place: int | None  # of the reader's first waiting job in that order, from 1

    @property
    def num_more(self) -> int:
        """Waiting jobs that are not listed."""
        return self.num_waiting - len(self.waiting)


@never_cache
@login_required
@require_GET
def show_queues(request: HttpRequest) -> HttpResponse:
    """The page, or only the tree when a part of the page asks for it again."""
    user, now = reader_of(request), timezone.now()
    total, rows = totals(), queue_tree(user)
    context = {
        "section": "queues",
        "now": now,
        "queues": queue_views(user, rows, now=now),
        "totals": total,
        "scale": scale_of(rows, total),
        "sums": sums_of(rows),
    }
    part = request.headers.get("HX-Request") == "true"
    return render(request, "queues/_tree.html" if part else "queues/queues.html", context)


def queue_views(user: User, rows: Sequence[QueueRow], *, now: datetime) -> list[QueueView]:
    """The rows with their jobs, in two queries for all of them."""
    counts, waiting = _counts(user), _waiting(user, now)
    return [_view(row, counts.get(row.id, {}), waiting.get(row.id, []), user=user) for row in rows]


def scale_of(rows: Sequence[QueueRow], total: Totals) -> int:
    """What a full bar stands for, in milli: the cluster, or the largest number that must be drawn."""
    numbers = [max(row.used_milli, row.guarantee_milli, row.limit_milli or 0) for row in rows]
    return max([total.num_accelerators * 1000, *numbers, 1000])


def sums_of(rows: Sequence[QueueRow]) -> dict[str, int]:
    """The tree in numbers; a queue's numbers include those below it, so only its tops are added up."""
    paths = {row.path for row in rows}
    tops = [row for row in rows if row.path.rpartition("/")[0] not in paths]
    return {
        "guarantee_milli": sum(row.guarantee_milli for row in tops),
        "used_milli": sum(row.used_milli for row in tops),
        "borrowed_milli": sum(row.borrowed_milli for row in tops),
    }


def _view(row: QueueRow, counts: Mapping[str, int], waiting: Sequence[JobRow], *, user: User) -> QueueView:
    own = (place for place, waits in enumerate(waiting, 1) if waits.job.owner_id == user.pk)
    return QueueView(
        row=row,
        num_running=counts.get("running", 0),
        num_waiting=counts.get("waiting", 0),
        num_held=counts.get("held", 0),
        waiting=waiting[:SHOWN_WAITING],
        own_place=next(own, None),
    )


def _counts(user: User) -> dict[UUID, dict[str, int]]:
    """Live jobs per queue."""
    found = (
        visible_jobs(user)
        .filter(finished_at__isnull=True)
        .order_by()
        .values("queue_id")
        .annotate(
            running=Count("id", filter=Q(state__in=PLACED)),
            waiting=Count("id", filter=Q(state="queued")),
            held=Count("id", filter=Q(state="held")),
        )
    )
    return {row["queue_id"]: _numbers(row) for row in found}


def _numbers(row: Mapping[str, Any]) -> dict[str, int]:
    return {name: row[name] for name in ("running", "waiting", "held")}


def _waiting(user: User, now: datetime) -> dict[UUID, list[JobRow]]:
    jobs = planned_jobs(user)
    rows: dict[UUID, list[JobRow]] = defaultdict(list)
    for job in with_row_data(jobs)[:MAX_WAITING]:
        rows[job.queue_id].append(job_row(job, now=now))
    return rows
