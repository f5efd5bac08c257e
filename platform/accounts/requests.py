"""What a request says about who sent it."""

import ipaddress

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from accounts.models import User


def client_address(request: HttpRequest) -> str | None:
    """The peer's IP address (uvicorn has already judged a proxy's header), or None over a socket file."""
    address = request.META.get("REMOTE_ADDR", "")
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return None


def reader_of(request: HttpRequest) -> User:
    """Who is logged in, for views that only such users reach."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user
