"""The one shape of an error: `{code, message, params, details: [{path, problem}], request_id}`.

Django REST framework's own errors, Django's 404 and 500, and every `Refusal` end up in it; pages show the
same sentence in a template. The HTTP status of a refusal is decided here and nowhere else.
"""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import DataError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from rest_framework import exceptions as rest
from rest_framework.response import Response
from rest_framework.views import set_rollback

from portal.request_ids import current_request_id
from refusals import Problem, Refusal

logger = logging.getLogger(__name__)

JSON_PREFIXES = ("/api/", "/runtime/", "/stream/", "/metrics", "/healthz", "/readyz")
# Input that no check foresaw but that the database or a codec cannot hold: a NUL, half a surrogate pair, a
# number beyond its column, a document nested thousands deep. The caller's doing, so never a 500.
UNSTORABLE = (DataError, UnicodeEncodeError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What went wrong, ready to be shown."""

    status: int
    code: str
    message: str
    params: Mapping[str, object] = field(default_factory=dict)
    details: Sequence[Problem] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """The error as JSON-ready built-ins, in the active language."""
        return {
            "code": self.code,
            "message": self.message,
            "params": {key: _plain(value) for key, value in self.params.items()},
            "details": [{"path": item.path, "problem": str(item.problem)} for item in self.details],
            "request_id": current_request_id(),
        }


def api_error(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Django REST framework's exception handler. None: not foreseen, so a 500 with a trace in the log."""
    fault = fault_of(error)
    if fault is None:
        return None
    set_rollback()
    return Response(fault.body(), status=fault.status, headers=dict(fault.headers))


def fault_of(error: Exception) -> Fault | None:
    """What to show for this exception, or None when it is a defect of ours."""
    if isinstance(error, Refusal | rest.APIException):
        return fault_of_refusal(error)
    for kind, make in _DJANGO.items():
        if isinstance(error, kind):
            return make()
    return None


def fault_of_refusal(error: Refusal | rest.APIException) -> Fault:
    """What to show for a refusal of ours or of Django REST framework."""
    if isinstance(error, rest.APIException):
        return _fault_of_rest(error)
    return Fault(
        status=error.status,
        code=error.code,
        message=error.message,
        params=error.params,
        details=error.details,
        headers=_retry_after(error.params.get("retry_after")),
    )


def too_large() -> Fault:
    """The body is beyond the limit."""
    return Fault(status=413, code="too_large", message=_("The request is larger than this portal accepts."))


def json_fault(fault: Fault) -> JsonResponse:
    """The fault as an answer outside of Django REST framework."""
    return JsonResponse(fault.body(), status=fault.status, headers=dict(fault.headers))


def answer_fault(request: HttpRequest, fault: Fault) -> HttpResponse:
    """The fault in the form that fits where the request went: JSON or a page."""
    if wants_json(request.path):
        return json_fault(fault)
    page = render(request, "error.html", {"fault": fault, **fault.body()}, status=fault.status)
    for name, value in fault.headers.items():
        page.headers[name] = value
    return page


def wants_json(path: str) -> bool:
    """Whether errors at this path are read by programs."""
    return path.startswith(JSON_PREFIXES)


class RefusalMiddleware:
    """Answers refusals raised by page views and by plain Django views."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Refuse what no column can hold before anything reads it, then go on."""
        if "\0" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            return answer_fault(request, _unstorable())
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer what `fault_of` knows; Django goes on with anything else."""
        fault = fault_of(error)
        return None if fault is None else answer_fault(request, fault)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Django's `handler404`."""
    return answer_fault(request, _missing())


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Django's `handler400`."""
    fault = fault_of(exception) if exception else None
    return answer_fault(request, fault or Fault(status=400, code="malformed", message=_("Bad request.")))


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Django's `handler403`."""
    return answer_fault(request, _denied())


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The form's token is missing or old."""
    message = _("The form was too old or came from elsewhere. Reload the page and send it again.")
    return answer_fault(request, Fault(status=403, code="csrf", message=message))


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's `handler500`: no template and no database, both may be what failed."""
    message = _(
        "Something went wrong on our side. It has been logged; quote the request id to an administrator."
    )
    fault = Fault(status=500, code="internal", message=message)
    if wants_json(request.path):
        return json_fault(fault)
    text = f"{message}\n\n{current_request_id()}\n"
    return HttpResponse(text, status=500, content_type="text/plain; charset=utf-8")


def _fault_of_rest(error: rest.APIException) -> Fault:
    if isinstance(error, rest.ValidationError):
        details = tuple(_problems(error.detail, path=""))
        message = _("The input has problems; each is listed with its path. Correct them and send it again.")
        return Fault(status=422, code="invalid", message=message, details=details)
    headers = _retry_after(getattr(error, "wait", None))
    if challenge := getattr(error, "auth_header", None):
        headers = {"WWW-Authenticate": challenge, **headers}
    return Fault(
        status=error.status_code,
        code=_CODES.get(error.default_code, error.default_code),
        message=str(error.detail),
        headers=headers,
    )


_CODES = {"permission_denied": "forbidden", "parse_error": "malformed"}


def _problems(detail: Any, *, path: str) -> Iterator[Problem]:
    if isinstance(detail, Mapping):
        for key, value in detail.items():
            here = path if key == "non_field_errors" else f"{path}.{key}".lstrip(".")
            yield from _problems(value, path=here)
    elif isinstance(detail, list | tuple):
        for index, value in enumerate(detail):
            nested = isinstance(value, Mapping | list | tuple)
            yield from _problems(value, path=f"{path}[{index}]" if nested else path)
    else:
        yield Problem(path, str(detail))


def _missing() -> Fault:
    return Fault(
        status=404, code="not_found", message=_("There is nothing at this address, or you may not see it.")
    )


def _denied() -> Fault:
    return Fault(
        status=403, code="forbidden", message=_("Your role does not allow this. Ask an admin of the team.")
    )


def _unstorable() -> Fault:
    message = _(
        "The input holds something that cannot be stored: a NUL, a broken character, or too large a number."
    )
    return Fault(status=422, code="invalid", message=message)


_DJANGO: Mapping[type[Exception] | tuple[type[Exception], ...], Callable[[], Fault]] = {
    Http404: _missing,
    PermissionDenied: _denied,
    RequestDataTooBig: too_large,
    UNSTORABLE: _unstorable,
}


def _retry_after(seconds: object) -> dict[str, str]:
    return {"Retry-After": str(math.ceil(seconds))} if isinstance(seconds, int | float) else {}


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | list | dict | None) else str(value)
