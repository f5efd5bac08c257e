"""What the cluster's side calls: the conductor's paths with its token, an attempt's with the attempt's own.

Plain Django views: bodies are raw, and nothing here is for people. The conductor's *waiting* `GET` of orders
is answered beside Django; here it is answered at once.
"""

import logging
import secrets
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from artifacts.errors import TooLarge
from artifacts.services import open_code, save_output
from cluster.services import record_inventory
from jobs import wire
from jobs.document import read_json
from jobs.errors import NoToken, StreamGap
from jobs.models import Attempt
from jobs.services.ingest import ingest_reports
from jobs.services.orders import finish_orders, take_orders, take_over
from jobs.services.streams import take_stream
from jobs.spec_reading import Reading
from ray_runtime.protocol import Inventory, Report, ReportKind, attempt_token
from refusals import Invalid, NotFound, Problem

logger = logging.getLogger(__name__)

MOST_STREAM_BYTES = 16 * 2**20  # of one append
MOST_REPORT_BYTES = 16 * 2**20  # an inventory of 10,000 nodes has about 5 MB
LARGEST_NUMBER = 2**62

View = Callable[..., HttpResponseBase]


def _of_conductor(*methods: str) -> Callable[[View], View]:
    """A view for whoever shows the conductor's token."""

    def decorate(view: View) -> View:
        def checked(request: HttpRequest) -> HttpResponseBase:
            _require_token(request, settings.ENV.conductor_token)
            return view(request)

        return csrf_exempt(require_http_methods(methods)(checked))

    return decorate


def _of_attempt(*methods: str) -> Callable[[View], View]:
    """A view for whoever shows the token of the attempt in the path; it is called with that attempt."""

    def decorate(view: View) -> View:
        def checked(request: HttpRequest, attempt_id: UUID, **named: str) -> HttpResponseBase:
            _require_token(request, attempt_token(settings.ENV.secret_key, str(attempt_id)))
            attempt = Attempt.objects.filter(id=attempt_id).first()
            if attempt is None:
                raise NotFound(kind=_("attempt"), id=str(attempt_id))
            return view(request, attempt, **named)

        return csrf_exempt(require_http_methods(methods)(checked))

    return decorate


@_of_conductor("POST")
def epoch(request: HttpRequest) -> HttpResponse:
    """A new conductor takes over."""
    body = _mapping(request, "incarnation")
    taken = take_over(incarnation=_text(body, "incarnation"), now=timezone.now())
    return JsonResponse(taken.to_json())


@_of_conductor("GET", "HEAD", "POST")
def orders(request: HttpRequest) -> HttpResponse:
    """The open orders, or the acknowledgement of those that were carried out."""
    now = timezone.now()
    if request.method != "POST":
        found = take_orders(epoch=_query_number(request, "epoch"), now=now)
        return JsonResponse({"orders": [order.to_json() for order in found]})
    body = _mapping(request, "epoch", "done")
    done = body.get("done")
    if not isinstance(done, list) or not all(_is_number(item) for item in done):
        raise Invalid(details=[Problem("done", _("must be a list of order numbers"))])
    return JsonResponse({"closed": finish_orders(done, epoch=_number(body, "epoch"), now=now)})


@_of_conductor("POST")
def reports(request: HttpRequest) -> HttpResponse:
    """What happened to attempts."""
    body = _mapping(request, "epoch", "incarnation", "reports")
    acked = ingest_reports(
        epoch=_number(body, "epoch"),
        incarnation=_text(body, "incarnation"),
        reports=_reports(body.get("reports")),
        now=timezone.now(),
    )
    return JsonResponse({"acked": acked})


@_of_conductor("POST")
def inventory(request: HttpRequest) -> HttpResponse:
    """The nodes and attempts as the conductor sees them now."""
    told = wire.read(Inventory, _body(request))
    if any(min(node.num_accelerators, node.cpus_milli, node.memory_bytes) < 0 for node in told.nodes):
        raise Invalid(details=[Problem("nodes", _("must not have negative amounts"))])
    change = record_inventory(told, now=timezone.now())
    return JsonResponse({"came": sorted(change.came), "went": sorted(change.went)})


@_of_attempt("POST")
def stream(request: HttpRequest, attempt: Attempt, name: str) -> HttpResponse:
    """Bytes of a worker's stream; where some before them are missing, 409 with the size to send on from."""
    body = request.read(MOST_STREAM_BYTES + 1)
    if len(body) > MOST_STREAM_BYTES:
        raise TooLarge.of(_("The piece of the stream"), limit_bytes=MOST_STREAM_BYTES)
    try:
        size = take_stream(
            attempt,
            name=name,
            offset=_query_number(request, "offset"),
            body=body,
            final=request.GET.get("final", "") in ("1", "true"),
            now=timezone.now(),
        )
    except StreamGap as gap:
        return JsonResponse({"code": gap.code, "size": gap.params["size"]}, status=gap.status)
    return JsonResponse({"size": size})


@_of_attempt("PUT")
def output(request: HttpRequest, attempt: Attempt) -> HttpResponse:
    """A file that a worker left."""
    saved = save_output(
        job_id=attempt.job_id,
        attempt_id=attempt.id,
        path=request.GET.get("path", ""),
        sha256=request.GET.get("sha256", ""),
        body=request,
        now=timezone.now(),
    )
    return JsonResponse({"id": str(saved.id), "size": saved.size_bytes}, status=201)


@_of_attempt("GET", "HEAD")
def code(_request: HttpRequest, attempt: Attempt) -> HttpResponseBase:
    """The code archive of the attempt's job."""
    archive = attempt.job.code
    if archive is None:
        raise NotFound(kind=_("code archive"), id=str(attempt.id))
    return FileResponse(open_code(archive), content_type="application/gzip")


def _require_token(request: HttpRequest, token: str) -> None:
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not secrets.compare_digest(given.encode(errors="replace"), token.encode()):
        raise NoToken


def _body(request: HttpRequest) -> object:
    body = request.read(MOST_REPORT_BYTES + 1)
    return read_json(body, max_bytes=MOST_REPORT_BYTES)


def _mapping(request: HttpRequest, *known: str) -> Mapping[str, Any]:
    """A JSON body with these keys; others, of a newer peer, are left out."""
    body = _body(request)
    if not isinstance(body, dict):
        raise Invalid(details=[Problem("", _("must be a mapping of keys to values"))])
    return {key: value for key, value in body.items() if key in known}


def _text(body: Mapping[str, Any], key: str) -> str:
    reading = Reading()
    value = reading.text(body.get(key), key, max_length=40)
    if value is None or reading.problems:
        raise Invalid(details=reading.problems or [Problem(key, _("is required"))])
    return value


def _reports(told: object) -> list[Report]:
    """The reports; one that cannot be read counts, with its number, as one that changes nothing.

    Refusing it would leave a gap that no later report could ever close.
    """
    if not isinstance(told, list):
        raise Invalid(details=[Problem("reports", _("must be a list"))])
    return [_report(item) for item in told]


def _report(item: object) -> Report:
    try:
        return wire.read(Report, item)
    except Invalid:
        seq = item.get("seq") if isinstance(item, dict) else None
        if not _is_number(seq):
            raise
        logger.error("a report of the conductor cannot be read and is passed over: %r", item)
        return Report(seq=int(seq or 0), kind=ReportKind.STOPPING, job_id="", attempt_id="", at_ms=0)


def _number(body: Mapping[str, Any], key: str) -> int:
    value = body.get(key)
    if not _is_number(value):
        raise Invalid(details=[Problem(key, _("must be a whole number"))])
    return int(value or 0)


def _query_number(request: HttpRequest, key: str) -> int:
    text = request.GET.get(key, "")
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise Invalid(details=[Problem(key, _("must be a whole number"))])
    return int(text)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_NUMBER
