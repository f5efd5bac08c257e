"""The first page after logging in: my jobs, my queues, the cluster at a glance."""

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db.models import Case, IntegerField, Value, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from accounts.requests import reader_of
from accounts.selectors import memberships_of
from cluster.selectors import totals
from jobs.models import PLACED
from jobs.selectors import visible_jobs
from jobs.views.occupants import occupants, used_devices
from jobs.views.queues import queue_views, scale_of
from jobs.views.rows import job_rows
from portal.env import Isolation
from quotas.selectors import queue_tree

SHOWN_JOBS = 8
LIVE_FIRST = Case(
    When(state__in=PLACED, then=Value(0)),
    When(finished_at__isnull=True, then=Value(1)),
    default=Value(2),
    output_field=IntegerField(),
)


@never_cache
@login_required
@require_GET
def show_home(request: HttpRequest) -> HttpResponse:
    """The page, or what changes on it when a part of the page asks for it again."""
    user, now = reader_of(request), timezone.now()
    jobs = visible_jobs(user)
    mine = jobs.filter(owner=user).order_by(LIVE_FIRST, "-submitted_at", "id")
    others = (
        jobs.exclude(owner=user).filter(finished_at__isnull=True).order_by(LIVE_FIRST, "-submitted_at", "id")
    )
    total, rows = totals(used_devices(occupants(user))), queue_tree(user)
    context = {
        "section": "home",
        "now": now,
        "mine": job_rows(mine[:SHOWN_JOBS], now=now),
        "others": job_rows(others[:SHOWN_JOBS], now=now),
        "num_running": jobs.filter(state__in=PLACED).count(),
        "num_waiting": jobs.filter(state="queued").count(),
        "totals": total,
        "queues": [view for view in queue_views(user, rows, now=now) if view.row.team],
        "scale": scale_of(rows, total),
        "shares_one_account": settings.ENV.isolation is Isolation.OFF,
        "has_team": user.is_platform_admin or memberships_of(user).exists(),
    }
    part = request.headers.get("HX-Request") == "true"
    return render(request, "portal/_home.html" if part else "portal/home.html", context)
