"""A connection to the ASGI application without a server in between: what was sent, as it is sent."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

Application = Callable[..., Awaitable[None]]


class Connection:
    """One request on its way; `leave` hangs up."""

    def __init__(self, serve: Application, path: str, *, headers: Mapping[str, str], method: str) -> None:
        address, _mark, query = path.partition("?")
        pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        self._scope = {
            "type": "http",
            "method": method,
            "path": address,
            "raw_path": address.encode(),
            "query_string": query.encode(),
            "headers": pairs,
            "http_version": "1.1",
            "scheme": "http",
            "client": ("127.0.0.1", 1),
            "server": ("testserver", 80),
        }
        self._incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._serve = serve
        self.task: asyncio.Future[None] | None = None
        self.text = ""

    def open(self, body: Iterable[bytes] = (b"",)) -> "Connection":
        """Send the request."""
        parts = list(body)
        for index, part in enumerate(parts):
            more = index + 1 < len(parts)
            self._incoming.put_nowait({"type": "http.request", "body": part, "more_body": more})
        self.task = asyncio.ensure_future(self._serve(self._scope, self._incoming.get, self._put))
        return self

    async def status(self) -> int:
        """The answer's status, once it has begun."""
        message = await asyncio.wait_for(self._sent.get(), 10)
        assert message["type"] == "http.response.start"
        status: int = message["status"]
        return status

    async def json(self) -> Any:
        """A whole answer's body."""
        message = await asyncio.wait_for(self._sent.get(), 10)
        return json.loads(message["body"])

    async def until(self, text: str) -> str:
        """Read the stream until this text has come; all of it so far."""
        while text not in self.text:
            message = await asyncio.wait_for(self._sent.get(), 10)
            self.text += message.get("body", b"").decode()
            assert text in self.text or message.get("more_body"), f"the stream ended without {text}"
        return self.text

    async def ended(self) -> None:
        """Wait for the end of the answer."""
        assert self.task is not None
        await asyncio.wait_for(self.task, 10)

    async def leave(self) -> None:
        """Hang up, and see that nothing is left running for it."""
        self._incoming.put_nowait({"type": "http.disconnect"})
        with suppress(asyncio.CancelledError):
            await self.ended()

    async def _put(self, message: Mapping[str, Any]) -> None:
        self._sent.put_nowait(dict(message))
