"""What a request says about who sent it."""

import ipaddress

from django.http import HttpRequest


def client_address(request: HttpRequest) -> str | None:
    """The peer's IP address (uvicorn has already judged a proxy's header), or None over a socket file."""
    address = request.META.get("REMOTE_ADDR", "")
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return None
