"""Live streams for browsers and command lines (server-sent events).

`/stream/jobs/<id>` replays the job's events after `Last-Event-ID` from the database and goes on with what
comes; `/stream/jobs` tells which jobs of the caller's teams changed. A message has
`event: event|state|log|metrics|job` and JSON data; only an event's own message has an id, its sequence
number. Who may listen is checked at the start and again while the stream is open.
"""

import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.utils import translation
from django.utils.translation import gettext as _
from rest_framework.exceptions import APIException, MethodNotAllowed, Throttled

from accounts.models import User
from accounts.selectors import teams_of
from eventlog.selectors import events_of
from eventlog.services import event_message
from eventlog.wakeups import JOBS_CHANNEL, job_channel
from jobs.selectors import get_job
from portal.answers import header, in_database_thread, query, send_fault, start, until_gone
from portal.broadcasts import Broadcasts, Listener
from portal.callers import caller_of_connection, language_of
from portal.django_handler import Receive, Scope, Send
from portal.http_errors import fault_of_refusal
from refusals import NotFound, Refusal

PREFIX = "/stream/"
HEARTBEAT_SECONDS = 10.0  # also: how late an event may be whose message was lost
CHECK_SECONDS = 60.0
LONGEST_SECONDS = 3600.0
MOST_PER_USER = 24
MOST_EVENTS_AT_ONCE = 1000
HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
    "X-Content-Type-Options": "nosniff",
}

_open: Counter[int] = Counter()


@dataclass(slots=True)
class Subscription:
    """What one stream is about, and how far it has told it. `job_id` None: all jobs of the user's teams."""

    scope: Scope
    user: User
    job_id: UUID | None
    seq: int
    teams: frozenset[str] = field(default_factory=frozenset)

    @property
    def channel(self) -> str:
        """Where its messages come from."""
        return job_channel(self.job_id) if self.job_id else JOBS_CHANNEL


async def serve(scope: Scope, receive: Receive, send: Send, *, broadcasts: Broadcasts) -> None:
    """Answer one stream, until the caller leaves, loses the right to it, or an hour has passed."""
    with translation.override(language_of(scope)):
        try:
            subscription = await in_database_thread(_opened, scope)
            async with _counted(subscription.user):
                await until_gone(receive, _stream(subscription, send, broadcasts=broadcasts))
        except (Refusal, APIException) as error:
            await send_fault(send, fault_of_refusal(error))


def _opened(scope: Scope) -> Subscription:
    """Who asks for what, if there is such a stream and they may have it."""
    if scope["method"] != "GET":
        raise MethodNotAllowed(scope["method"])
    user = caller_of_connection(scope)
    job_id = _job_id(scope["path"])
    if job_id:
        get_job(user, job_id)
    return Subscription(scope, user, job_id, _last_seen(scope), _team_ids(user))


def _job_id(path: str) -> UUID | None:
    kind, _slash, rest = path.removeprefix(PREFIX).strip("/").partition("/")
    if kind == "jobs" and not rest:
        return None
    with suppress(ValueError):
        if kind == "jobs":
            return UUID(rest)
    raise NotFound(kind=_("stream"), id=path)


def _last_seen(scope: Scope) -> int:
    text = header(scope, "Last-Event-ID") or query(scope).get("after", "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _team_ids(user: User) -> frozenset[str]:
    return frozenset(str(team.pk) for team in teams_of(user))


async def _stream(subscription: Subscription, send: Send, *, broadcasts: Broadcasts) -> None:
    async with broadcasts.listen(subscription.channel) as listener:
        await start(send, status=200, headers=HEADERS)
        await _say(send, b"retry: 1000\n\n")
        await _replay(subscription, send)
        await _follow(subscription, send, listener)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _follow(subscription: Subscription, send: Send, listener: Listener) -> None:
    ends_at = time.monotonic() + LONGEST_SECONDS
    check_at = time.monotonic() + CHECK_SECONDS
    while not listener.overrun and time.monotonic() < ends_at:
        message = await listener.get(timeout=HEARTBEAT_SECONDS)
        if message is None:
            await _say(send, b": still here\n\n")
            await _replay(subscription, send)
        else:
            await _say(send, b"".join(_live(subscription, json.loads(message))))
        if time.monotonic() > check_at:
            check_at = time.monotonic() + CHECK_SECONDS
            if not await in_database_thread(_still_allowed, subscription):
                return


def _still_allowed(subscription: Subscription) -> bool:
    try:
        subscription.teams = _opened(subscription.scope).teams
    except (Refusal, APIException):
        return False
    return True


async def _replay(subscription: Subscription, send: Send) -> None:
    """Tell what the database has beyond what was told."""
    if subscription.job_id is None:
        return
    messages = await in_database_thread(_events_after, subscription.job_id, subscription.seq)
    for message in messages:
        await _say(send, b"".join(_live(subscription, message)))


def _events_after(job_id: UUID, seq: int) -> list[dict[str, Any]]:
    return [event_message(event) for event in events_of(job_id, after_seq=seq)[:MOST_EVENTS_AT_ONCE]]


def _live(subscription: Subscription, message: dict[str, Any]) -> Iterable[bytes]:
    """The stream's text for one message; nothing for what was told already or is not the caller's."""
    if subscription.job_id is None:
        if str(message.get("team")) in subscription.teams:
            yield _text("job", message)
        return
    kind = message["type"]
    if kind != "event":
        yield _text(kind, message)
    elif message["seq"] > subscription.seq:
        subscription.seq = message["seq"]
        yield _text(kind, message, event_id=message["seq"])
        if "state" in message:
            yield _text("state", message)


def _text(event: str, data: dict[str, Any], *, event_id: int | None = None) -> bytes:
    lines = [f"event: {event}", f"data: {json.dumps(data, ensure_ascii=False)}"]
    if event_id is not None:
        lines.insert(0, f"id: {event_id}")
    return ("\n".join(lines) + "\n\n").encode()


async def _say(send: Send, text: bytes) -> None:
    if text:
        await send({"type": "http.response.body", "body": text, "more_body": True})


@asynccontextmanager
async def _counted(user: User) -> AsyncIterator[None]:
    if _open[user.pk] >= MOST_PER_USER:
        raise Throttled(wait=10)
    _open[user.pk] += 1
    try:
        yield
    finally:
        _open[user.pk] -= 1
