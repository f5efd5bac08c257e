"""HTTP to the portal: what is worth another try and what is not. Used by conductor and agents."""

import random
from typing import Any

import httpx

_RETRY_LATER = {408, 425, 429}


class PortalAwayError(Exception):
    """No answer, or one that will change by itself: try again later, lose nothing, conclude nothing."""


class PortalRefusedError(Exception):
    """A final answer: asking again would not help."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__(f"{response.request.method} {response.url.path}: {response.status_code}")
        self.status = response.status_code
        self.response = response

    def number(self, key: str) -> int | None:
        """A number from a JSON answer, such as a stream's size in a 409."""
        try:
            value = self.response.json().get(key)
        except (ValueError, AttributeError):
            return None
        return value if isinstance(value, int) else None


class Backoff:
    """Growing pauses with jitter; the first is short, because most outages are."""

    def __init__(self, *, first: float = 0.1, longest: float = 5.0) -> None:
        self._first = first
        self._longest = longest
        self._next = first

    def pause(self) -> float:
        """Seconds to wait after one more failure."""
        pause = self._next
        self._next = min(self._longest, self._next * 2)
        return pause * random.uniform(0.7, 1.3)

    def reset(self) -> None:
        """After a success."""
        self._next = self._first


def portal_client(base_url: str, *, token: str | None = None, connections: int = 16) -> httpx.AsyncClient:
    """A client with keep-alive. `token` is sent with every call; agents pass the attempt's with each."""
    return httpx.AsyncClient(
        base_url=base_url,
        headers={"Authorization": f"Bearer {token}"} if token else {},
        timeout=httpx.Timeout(15.0, connect=5.0),
        limits=httpx.Limits(max_connections=connections, keepalive_expiry=60.0),
    )


async def call(client: httpx.AsyncClient, method: str, path: str, **options: Any) -> httpx.Response:
    """One request. Raises `PortalAwayError` or `PortalRefusedError`; anything else is a 2xx."""
    try:
        response = await client.request(method, path, **options)
    except httpx.TransportError as error:
        raise PortalAwayError(f"{method} {path}: {error!r}") from error
    return checked(response)


def checked(response: httpx.Response) -> httpx.Response:
    """The response if it is a 2xx."""
    if response.is_success:
        return response
    if response.status_code >= 500 or response.status_code in _RETRY_LATER:
        raise PortalAwayError(f"{response.request.method} {response.url.path}: {response.status_code}")
    raise PortalRefusedError(response)
