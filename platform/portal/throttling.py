"""How often a user, or an address without a user, may ask. Counted in Redis; without it nobody is refused."""

import logging
from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

if TYPE_CHECKING:  # the view imports this module while its own is being loaded
    from rest_framework.views import APIView

logger = logging.getLogger(__name__)


class _OpenWithoutRedis(SimpleRateThrottle):
    """A limit protects the service; it must not be what takes it down."""

    def allow_request(self, request: Request, view: "APIView") -> bool:
        try:
            return bool(super().allow_request(request, view))
        except RedisError as error:
            logger.warning("requests are not counted: %s", error)
            return True


class UserThrottle(_OpenWithoutRedis):
    """Limits each user."""

    scope = "user"

    def get_cache_key(self, request: Request, view: "APIView") -> str | None:
        """None: an anonymous request, the other throttle's."""
        if isinstance(request.user, AnonymousUser) or not request.user:
            return None
        return self.cache_format % {"scope": self.scope, "ident": request.user.pk}


class AddressThrottle(_OpenWithoutRedis):
    """Limits each address that shows no valid token or session."""

    scope = "address"

    def get_cache_key(self, request: Request, view: "APIView") -> str | None:
        """None: the request has a user."""
        if request.user and request.user.is_authenticated:
            return None
        return self.cache_format % {"scope": self.scope, "ident": self.get_ident(request)}
