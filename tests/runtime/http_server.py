"""A small asyncio HTTP/1.1 server in a thread that can go down, and drop answers after doing the work."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

_REASONS = {200: "OK", 401: "Unauthorized", 404: "Not Found", 409: "Conflict"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request, body read whole."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """One answer."""

    status: int
    body: bytes


Handler = Callable[[Request], Awaitable[Response]]


class HttpServer:
    """Serves a handler on a port of its own until closed."""

    def __init__(self, handler: Handler, *, address: str = "127.0.1.1") -> None:
        self.drop_answers = 0  # of the next requests: handled, then the connection is cut
        self.num_requests = 0
        self._handler = handler
        self._address = address
        self._port = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.come_up()

    @property
    def url(self) -> str:
        """Where it listens, also while it is down."""
        return f"http://{self._address}:{self._port}"

    def come_up(self) -> None:
        """Listen (again) at the same address."""
        self.run(self._listen())

    def go_down(self) -> None:
        """Refuse connections and cut those that are open."""
        self.run(self._close())

    def close(self) -> None:
        """For good."""
        self.go_down()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)

    def run(self, work: Awaitable[None]) -> None:
        """Run a coroutine in the server's loop and wait for it."""
        asyncio.run_coroutine_threadsafe(_awaited(work), self.loop).result(10)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, self._address, self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()
        handlers = asyncio.all_tasks() - {asyncio.current_task()}
        for handler in handlers:
            handler.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while (request := await _read_request(reader)) is not None:
                self.num_requests += 1
                response = await self._handler(request)
                if self.drop_answers > 0:
                    self.drop_answers -= 1
                    break
                writer.write(_render(response))
                await writer.drain()
        writer.transport.abort()
        self._writers.discard(writer)


async def _awaited(work: Awaitable[None]) -> None:
    await work


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    line = await reader.readline()
    if not line:
        return None
    method, target, _version = line.decode().split()
    headers: dict[str, str] = {}
    while (text := (await reader.readline()).decode().strip()) != "":
        name, _, value = text.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    parts = urlsplit(target)
    return Request(
        method=method,
        path=unquote(parts.path),
        query=dict(parse_qsl(parts.query)),
        headers=headers,
        body=body,
    )


def _render(response: Response) -> bytes:
    reason = _REASONS.get(response.status, "Status")
    head = f"HTTP/1.1 {response.status} {reason}\r\ncontent-length: {len(response.body)}\r\n\r\n"
    return head.encode() + response.body
