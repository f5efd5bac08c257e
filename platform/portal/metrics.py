"""`/metrics` for Prometheus: what the database says now, and how this process answers requests."""

import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from django.conf import settings
from django.db.models import Count, Min, Sum
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_GET
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cluster.models import Conductor, Node, NodeState
from eventlog.models import Command, Event
from jobs.models import Job
from portal.callers import caller_of
from portal.http_errors import Fault, answer_fault
from quotas.models import Queue

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class PlatformCollector(Collector):
    """Reads the numbers of the whole platform at the moment of the scrape."""

    def collect(self) -> Iterable[Metric]:
        """Every family, each by one query."""
        now = timezone.now()
        yield from _jobs()
        yield from _queues()
        yield from _nodes()
        yield from _outbox(now)


REGISTRY = CollectorRegistry()
REGISTRY.register(PlatformCollector())
REQUESTS = Counter(
    "gangline_http_requests", "Requests answered.", ["route", "method", "status"], registry=REGISTRY
)
SECONDS = Histogram(
    "gangline_http_request_seconds",
    "Time to answer.",
    ["route"],
    registry=REGISTRY,
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
)


class MetricsMiddleware:
    """Counts requests by route, never by address: an address has ids in it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, and count."""
        started = time.perf_counter()
        response = self._get_response(request)
        route = request.resolver_match.route if request.resolver_match else "(none)"
        REQUESTS.labels(route, request.method, response.status_code).inc()
        SECONDS.labels(route).observe(time.perf_counter() - started)
        return response


@require_GET
def scrape(request: HttpRequest) -> HttpResponse:
    """The exposition, for whoever shows the metrics token and for platform admins."""
    if not _may_scrape(request):
        message = "Show the metrics token or a platform admin's API token as bearer token."
        headers = {"WWW-Authenticate": "Bearer"}
        fault = Fault(status=401, code="not_authenticated", message=message, headers=headers)
        return answer_fault(request, fault)
    return HttpResponse(generate_latest(REGISTRY), content_type=CONTENT_TYPE)


def _may_scrape(request: HttpRequest) -> bool:
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    token = settings.ENV.metrics_token
    if token and secrets.compare_digest(given.encode(), token.encode()):
        return True
    user = caller_of(request)
    return user is not None and user.is_platform_admin


def _jobs() -> Iterator[Metric]:
    family = GaugeMetricFamily("gangline_jobs", "Jobs by team and state.", labels=["team", "state"])
    jobs = Job.objects.filter(deleted_at__isnull=True)
    for team, state, count in jobs.values_list("team__slug", "state").annotate(count=Count("id")).order_by():
        family.add_metric([team, state], count)
    yield family


def _queues() -> Iterator[Metric]:
    used = GaugeMetricFamily("gangline_queue_used_accelerators", "Held by running jobs.", labels=["queue"])
    guarantee = GaugeMetricFamily("gangline_queue_guarantee_accelerators", "Guaranteed.", labels=["queue"])
    for path, used_milli, guarantee_milli in Queue.objects.values_list(
        "path", "used_milli", "guarantee_milli"
    ):
        used.add_metric([path], used_milli / 1000)
        guarantee.add_metric([path], guarantee_milli / 1000)
    yield from (used, guarantee)


def _nodes() -> Iterator[Metric]:
    nodes = GaugeMetricFamily("gangline_nodes", "Nodes by state.", labels=["state"])
    for state, count in Node.objects.values_list("state").annotate(count=Count("id")).order_by():
        nodes.add_metric([state], count)
    ready = Node.objects.filter(state=NodeState.READY).aggregate(total=Sum("num_accelerators"))["total"]
    yield nodes
    yield GaugeMetricFamily("gangline_accelerators", "Accelerators of ready nodes.", value=ready or 0)


def _outbox(now: datetime) -> Iterator[Metric]:
    open_commands = Command.objects.filter(done_at__isnull=True)
    yield GaugeMetricFamily("gangline_commands_open", "Orders not done.", value=open_commands.count())
    yield GaugeMetricFamily(
        "gangline_command_oldest_seconds",
        "Age of the oldest order that is not done.",
        value=_age(open_commands.aggregate(at=Min("created_at"))["at"], now),
    )
    unpublished = Event.objects.filter(published_at__isnull=True).count()
    yield GaugeMetricFamily("gangline_events_unpublished", "Events not yet published.", value=unpublished)
    seen_at = Conductor.objects.values_list("last_seen_at", flat=True).first()
    yield GaugeMetricFamily(
        "gangline_conductor_silence_seconds", "Since the conductor was heard.", value=_age(seen_at, now)
    )


def _age(at: datetime | None, now: datetime) -> float:
    return (now - at).total_seconds() if at else 0.0
