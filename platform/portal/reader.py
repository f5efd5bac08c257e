"""The reader's own language and time zone, where the account has set them; else what the browser asks for."""

import zoneinfo
from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone, translation

from accounts.models import User


class ReaderMiddleware:
    """Activates both for the rest of the request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer in the reader's language and zone."""
        if isinstance(request.user, User):
            _speak(request, request.user.language)
            with timezone.override(_zone(request.user.time_zone)):
                return self._get_response(request)
        return self._get_response(request)


def _speak(request: HttpRequest, language: str) -> None:
    if language and translation.check_for_language(language):
        translation.activate(language)
        request.LANGUAGE_CODE = translation.get_language()


def _zone(name: str) -> zoneinfo.ZoneInfo | None:
    try:
        return zoneinfo.ZoneInfo(name) if name else None
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return None
