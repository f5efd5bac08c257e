"""How often a user, or an address without a user, may ask. Counted in Redis; without it nobody is refused.

By one counter per window: REST framework's own keeps the time of every request in a list and moves the whole
list on each of them.
"""

import logging
import time
from typing import TYPE_CHECKING

from django.core.cache import cache
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

if TYPE_CHECKING:  # the view imports this module while its own is being loaded
    from rest_framework.views import APIView

logger = logging.getLogger(__name__)


class _PerWindow(SimpleRateThrottle):
    """Refuses what is beyond `num_requests` in the present window of `duration` seconds."""

    num_requests: int | None
    duration: int | None

    def allow_request(self, request: Request, view: "APIView") -> bool:
        """Count the request. A limit protects the service; it must not be what takes it down."""
        key = self.get_cache_key(request, view)
        if key is None or self.num_requests is None or self.duration is None:
            return True
        try:
            return _count(f"{key}:{int(time.time() // self.duration)}", self.duration) <= self.num_requests
        except RedisError as error:
            logger.warning("requests are not counted: %s", error)
            return True

    def wait(self) -> float | None:
        """Until the next window begins."""
        return self.duration - time.time() % self.duration if self.duration else None


class UserThrottle(_PerWindow):
    """Limits each user."""

    scope = "user"

    def get_cache_key(self, request: Request, view: "APIView") -> str | None:
        """None: an anonymous request, the other throttle's."""
        if not request.user or not request.user.is_authenticated:
            return None
        return self.cache_format % {"scope": self.scope, "ident": request.user.pk}


class AddressThrottle(_PerWindow):
    """Limits each address that shows no valid token or session."""

    scope = "address"

    def get_cache_key(self, request: Request, view: "APIView") -> str | None:
        """None: the request has a user."""
        if request.user and request.user.is_authenticated:
            return None
        return self.cache_format % {"scope": self.scope, "ident": self.get_ident(request)}


def _count(key: str, seconds: float) -> int:
    """How many it is in this window, this one included."""
    if cache.add(key, 1, seconds + 1):
        return 1
    return cache.incr(key)
