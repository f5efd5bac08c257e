"""Answering connections that Django does not see: JSON bodies, and the database asked from a coroutine."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar
from urllib.parse import parse_qs

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import connections

from portal.django_handler import Receive, Scope, Send
from portal.http_errors import Fault

P = ParamSpec("P")
T = TypeVar("T")


async def in_database_thread(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `work` in a thread of its own and give its database connection back afterwards."""

    def work_and_let_go() -> T:
        try:
            return work(*args, **kwargs)
        finally:
            connections.close_all()

    async with ThreadSensitiveContext():
        return await sync_to_async(work_and_let_go, thread_sensitive=True)()


async def send_json(
    send: Send, body: Mapping[str, Any], *, status: int = 200, headers: Mapping[str, str] | None = None
) -> None:
    """A whole answer."""
    content = json.dumps(body, ensure_ascii=False).encode()
    await start(
        send,
        status=status,
        headers={
            "Content-Type": "application/json",
            "Content-Length": str(len(content)),
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
            **(headers or {}),
        },
    )
    await send({"type": "http.response.body", "body": content})


async def send_fault(send: Send, fault: Fault, *, close: bool = False) -> None:
    """An error in the one shape. `close`: the rest of the request's body will not be read."""
    headers = {**fault.headers, **({"Connection": "close"} if close else {})}
    await send_json(send, fault.body(), status=fault.status, headers=headers)


async def start(send: Send, *, status: int, headers: Mapping[str, str]) -> None:
    """The answer's first line and headers."""
    pairs = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})


async def until_gone(receive: Receive, answering: Coroutine[Any, Any, None]) -> None:
    """Run until it ends by itself or the caller hangs up, whichever comes first."""
    answer = asyncio.ensure_future(answering)
    gone = asyncio.ensure_future(_hung_up(receive))
    try:
        await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        answer.cancel()
        with suppress(asyncio.CancelledError):
            await answer


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def header(scope: Scope, name: str) -> str:
    """One header of the request, or an empty string."""
    wanted = name.lower().encode()
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == wanted), "")


def query(scope: Scope) -> dict[str, str]:
    """The request's parameters; of one that comes twice, the last."""
    return {name: values[-1] for name, values in parse_qs(scope["query_string"].decode("latin-1")).items()}
