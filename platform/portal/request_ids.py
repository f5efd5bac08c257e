"""A short id per request or task: in the answer's header, in error bodies, and on every log line of it."""

import logging
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.http import HttpRequest, HttpResponseBase

HEADER = "X-Request-Id"
_ACCEPTABLE = re.compile(r"[A-Za-z0-9._-]{8,64}")
_current: ContextVar[str] = ContextVar("request_id", default="-")


def current_request_id() -> str:
    """The id of the request that is being answered, or `-` outside of one."""
    return _current.get()


@contextmanager
def task_id_in_logs(task_id: str) -> Iterator[None]:
    """Let log lines carry the id of a task, which has no request."""
    token = _current.set(task_id)
    try:
        yield
    finally:
        _current.reset(token)


class RequestIdMiddleware:
    """Takes the caller's id where it is a plain word, else makes one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer with the id set."""
        request_id = _chosen(request.headers.get(HEADER, ""))
        token = _current.set(request_id)
        try:
            response = self._get_response(request)
        finally:
            _current.reset(token)
        response[HEADER] = request_id
        return response


class RequestIdFilter(logging.Filter):
    """Puts the id on each log record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Never drops a record."""
        record.request_id = current_request_id()
        return True


def _chosen(given: str) -> str:
    return given if _ACCEPTABLE.fullmatch(given) else secrets.token_hex(8)
