"""Slows guessing of passwords: after a few failures a name or an address must wait. Counted in Redis."""

import logging
from collections.abc import Callable
from hashlib import sha256

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from portal.http_errors import Fault, answer_fault

logger = logging.getLogger(__name__)

MAX_FAILURES = 10
WAIT_SECONDS = 300


class LoginGuardMiddleware:
    """Counts log-ins that did not end in a redirect."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Turn away who failed too often; count who fails now."""
        if request.method != "POST" or request.path.rstrip("/") != settings.LOGIN_URL:
            return self._get_response(request)
        try:
            return self._guarded(request)
        except RedisError as error:
            logger.warning("failed log-ins are not counted: %s", error)
            return self._get_response(request)

    def _guarded(self, request: HttpRequest) -> HttpResponseBase:
        keys = _keys(request)
        if any(count >= MAX_FAILURES for count in cache.get_many(keys).values()):
            message = _("Too many failed attempts to log in. Wait five minutes and try again.")
            headers = {"Retry-After": str(WAIT_SECONDS)}
            return answer_fault(
                request, Fault(status=429, code="throttled", message=message, headers=headers)
            )
        response = self._get_response(request)
        if response.status_code not in (302, 303):
            _count(keys)
        return response


def _keys(request: HttpRequest) -> list[str]:
    name = sha256(request.POST.get("username", "").strip().lower().encode(errors="replace")).hexdigest()
    return [f"login:name:{name}", f"login:address:{request.META.get('REMOTE_ADDR', '')}"]


def _count(keys: list[str]) -> None:
    for key in keys:
        cache.add(key, 0, WAIT_SECONDS)
        cache.incr(key)
