"""A small real HTTP server that answers as a test scripts it and records what it was asked."""

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

DROP_CONNECTION = -1  # a status: the request is taken, its answer never arrives


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Answer:
    """What to send back."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Reply = Callable[[Seen], Answer]


@dataclass(slots=True)
class _Route:
    method: str
    pattern: re.Pattern[str]
    replies: list[Reply]

    def next_reply(self) -> Reply:
        """Each reply once, the last one for ever."""
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class RecordingPortal:
    """Paths are relative to /api/v1/. It can be stopped and started again at the same port."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self._routes: list[_Route] = []
        self._port = 0
        self._server: ThreadingHTTPServer | None = None
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._port}"

    def on(self, method: str, path: str, *answers: Any) -> None:
        """Answer requests whose path fits the pattern: JSON, an `Answer`, or a function of the request. A
        later script for the same path goes before an earlier one.
        """
        replies = [_reply(answer) for answer in answers]
        self._routes.insert(0, _Route(method, re.compile(f"/api/v1/{path}"), replies))

    def of(self, method: str, path: str) -> list[Seen]:
        """The recorded requests of this method and path."""
        return [seen for seen in self.requests if (seen.method, seen.path) == (method, f"/api/v1/{path}")]

    def start(self) -> None:
        """Listen; again at the same port after a `stop`."""
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), self._handler())
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Refuse connections, as a portal that is being restarted."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def answer(self, seen: Seen) -> Answer:
        """Record a request and find its answer."""
        with self._lock:
            self.requests.append(seen)
            for route in self._routes:
                if route.method == seen.method and route.pattern.fullmatch(seen.path):
                    return route.next_reply()(seen)
        return refusal("not_found", f"There is no {seen.path}.", 404)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        portal = self

        class Handler(BaseHTTPRequestHandler):
            """Passes requests on to the portal around it."""

            def respond(self) -> None:
                """Record, answer, close."""
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.headers.get("Transfer-Encoding") == "chunked":
                    body = _read_chunks(self)
                headers = {name.lower(): value for name, value in self.headers.items()}
                answer = portal.answer(Seen(self.command, parts.path, parse_qs(parts.query), headers, body))
                if answer.status != DROP_CONNECTION:
                    _send(self, answer)

            do_GET = do_POST = do_PATCH = do_DELETE = respond  # noqa: N815  # names given by http.server

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        return Handler


def refusal(code: str, message: str, status: int, **more: Any) -> Answer:
    """An error in the portal's shape."""
    body = {"code": code, "message": message, "params": {}, "details": [], "request_id": "r-1", **more}
    return Answer(body, status)


def page(*items: Any) -> dict[str, Any]:
    """A list that fits on one page."""
    return {"results": list(items), "next": None}


def job(**values: Any) -> dict[str, Any]:
    """A job as the API shows it."""
    return {
        "id": "0b1e7a52-0000-4000-8000-000000000001",
        "name": "first",
        "team": "vision",
        "queue": "vision",
        "owner": "wei",
        "state": "queued",
        "intent": "",
        "cause": "submitted",
        "priority": 200,
        "workers": 2,
        "resources": {"accelerators": 1, "cpus": 1, "memory_bytes": 2**30, "types": []},
        "step": None,
        "total_steps": None,
        "reason": None,
        "submitted_at": "2026-11-30T10:00:00Z",
        "changed_at": "2026-11-30T10:00:00Z",
        "first_started_at": None,
        "finished_at": None,
        "attempt": None,
        "num_attempts": 0,
        **values,
    }


def _reply(answer: Any) -> Reply:
    if callable(answer):
        return answer  # type: ignore[no-any-return]  # a function given by a test
    fixed = answer if isinstance(answer, Answer) else Answer(answer)
    return lambda _: fixed


def _send(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    is_raw = isinstance(answer.body, bytes)
    body = answer.body if is_raw else json.dumps(answer.body).encode()
    if answer.status == 204:
        body = b""
    handler.send_response(answer.status)
    for name, value in answer.headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _read_chunks(handler: BaseHTTPRequestHandler) -> bytes:
    body = b""
    while size := int(handler.rfile.readline(), 16):
        body += handler.rfile.read(size)
        handler.rfile.readline()
    handler.rfile.readline()
    return body
