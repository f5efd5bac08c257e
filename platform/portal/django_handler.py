"""Django behind ASGI: each request runs in one thread from first middleware to last, bodies are bounded."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]

# What a multipart body has besides its files.
ENVELOPE_BYTES = 2**20
BYTES_PER_STEP = 2**18


class BodyTooLargeError(Exception):
    """More bytes came than a request may have, whatever its Content-Length said."""


class OneThreadHandler(ASGIHandler):
    """All middlewares and views of this project are synchronous. Django would change threads between ours and
    those of its own that can also be asynchronous, several times per request; this enters one thread, once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """The answer, from the request's thread."""
        response: HttpResponseBase = await sync_to_async(self.get_response, thread_sensitive=True)(request)
        if isinstance(response, StreamingHttpResponse) and not response.is_async:
            # Django would read the whole iterator into a list first: a log may have 200 MB.
            response.streaming_content = _stepwise(response.streaming_content)  # type: ignore[arg-type]  # sync here
        return response


def bounded(receive: Receive, *, limit: int) -> Receive:
    """The same `receive`, that raises `BodyTooLargeError` once more than `limit` bytes have come."""
    total = 0

    async def receive_bounded() -> dict[str, Any]:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > limit:
            raise BodyTooLargeError
        return message

    return receive_bounded


async def _stepwise(parts: Iterable[bytes]) -> AsyncIterator[bytes]:
    iterator = iter(parts)
    while part := await sync_to_async(_some, thread_sensitive=True)(iterator):
        yield part


def _some(iterator: Iterator[bytes]) -> bytes:
    """The next parts together, up to a quarter of a MiB: one change of thread for many small ones."""
    taken = bytearray()
    for part in iterator:
        taken += part
        if len(taken) >= BYTES_PER_STEP:
            break
    return bytes(taken)
