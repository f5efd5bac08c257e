"""Which connection goes where: live streams and the conductor's long poll first, everything else to Django.

The two that stay open for long are not Django views: each would hold a thread and a database connection.
"""

from contextlib import suppress

from django.conf import settings

from portal import orders, streams
from portal.answers import send_fault
from portal.broadcasts import Broadcasts
from portal.django_handler import (
    ENVELOPE_BYTES,
    BodyTooLargeError,
    OneThreadHandler,
    Receive,
    Scope,
    Send,
    bounded,
)
from portal.http_errors import too_large
from ray_runtime.protocol import ORDERS_PATH

_django = OneThreadHandler()
_broadcasts = Broadcasts(settings.ENV.redis_url)


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one connection."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    elif scope["type"] == "http":
        await _http(scope, receive, send)


async def _http(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["path"].startswith(streams.PREFIX):
        await streams.serve(scope, receive, send, broadcasts=_broadcasts)
    elif scope["path"] == ORDERS_PATH and scope["method"] == "GET":
        await orders.serve(scope, receive, send, broadcasts=_broadcasts)
    else:
        await _to_django(scope, receive, send)


async def _to_django(scope: Scope, receive: Receive, send: Send) -> None:
    limit = settings.ENV.max_upload_bytes + ENVELOPE_BYTES
    try:
        if _declared_length(scope) > limit:
            raise BodyTooLargeError
        await _django(scope, bounded(receive, limit=limit), send)
    except BodyTooLargeError:
        await send_fault(send, too_large(), close=True)


def _declared_length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length":
            with suppress(ValueError):
                return int(value)
    return 0


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.shutdown":
            await _broadcasts.close()
            await send({"type": "lifespan.shutdown.complete"})
            return
        await send({"type": "lifespan.startup.complete"})
