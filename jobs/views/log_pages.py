"""The log of a job's workers: what a page shows at first, and the JSON windows that its viewer asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, JsonResponse, QueryDict
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from accounts.requests import reader_of
from artifacts.models import Stream
from artifacts.services import read_stream
from jobs.models import Attempt
from jobs.selectors import get_job
from jobs.views.log_windows import (
    LogWindow,
    Read,
    find_lines,
    offset_of_line,
    tail_window,
    window_before,
    window_from,
)
from ray_runtime.protocol import StreamKind, stream_name
from refusals import NotFound

TAIL_BYTES = 64 * 1024
LINES_BEFORE = 200  # shown above the line that one jumps to
SEARCH_BYTES = 512 * 1024 * 1024  # per answer; the viewer goes on by itself
MAX_SEARCH_CHARS = 200
LARGEST = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class LogChoice:
    """Whose log is shown: one worker of one attempt, out of those there are."""

    attempt: Attempt | None
    rank: int
    ranks: tuple[int, ...] = ()
    size: int = 0
    num_lines: int = 0
    closed: bool = False
    is_pinned: bool = False  # an attempt was asked for; else the newest one is followed

    def read(self, offset: int, limit: int) -> bytes:
        """The stream's bytes; none where there is no stream yet."""
        if self.attempt is None or offset >= self.size:
            return b""
        name = stream_name(self.rank, StreamKind.LOG)
        return read_stream(
            attempt_id=self.attempt.id, name=name, offset=offset, limit=min(limit, self.size - offset)
        )


def log_choice(query: QueryDict, attempts: Sequence[Attempt]) -> LogChoice:
    """The asked-for attempt and rank, else the newest attempt and rank 0; `NotFound` for one there is not."""
    if not attempts:
        return LogChoice(attempt=None, rank=0)
    number = _number(query, "attempt", default=attempts[-1].number)
    attempt = next((attempt for attempt in attempts if attempt.number == number), None)
    if attempt is None:
        raise NotFound(kind=_("attempt"), id=number)
    ranks = tuple(worker["rank"] for worker in attempt.placement) or (0,)
    rank = _number(query, "rank", default=ranks[0])
    if rank not in ranks:
        raise NotFound(kind=_("worker"), id=rank)
    is_pinned = "attempt" in query
    stream = Stream.objects.filter(attempt_id=attempt.id, name=stream_name(rank, StreamKind.LOG)).first()
    if stream is None:
        closed = attempt.ended_at is not None
        return LogChoice(attempt=attempt, rank=rank, ranks=ranks, closed=closed, is_pinned=is_pinned)
    return LogChoice(
        attempt=attempt,
        rank=rank,
        ranks=ranks,
        size=stream.size_bytes,
        num_lines=stream.num_lines,
        closed=stream.closed_at is not None,
        is_pinned=is_pinned,
    )


def log_tail(choice: LogChoice) -> LogWindow:
    """The end of the log."""
    return tail_window(
        choice.read,
        size=choice.size,
        closed=choice.closed,
        num_bytes=TAIL_BYTES,
        num_lines=choice.num_lines,
    )


@never_cache
@login_required
@require_GET
def log_window(request: HttpRequest, job_id: UUID) -> JsonResponse:
    """Some lines: `from` or `before` an offset, around a `line`, or the end of the log."""
    choice = _choice(request, job_id)
    window = _window(request.GET, choice)
    return JsonResponse(_described(choice) | _plain(window))


@never_cache
@login_required
@require_GET
def log_search(request: HttpRequest, job_id: UUID) -> JsonResponse:
    """The lines with this text, from an offset on."""
    choice = _choice(request, job_id)
    text = request.GET.get("text", "")[:MAX_SEARCH_CHARS]
    if not text:
        return JsonResponse({"hits": [], "next_offset": None, "next_line": None})
    found = find_lines(
        choice.read,
        text,
        offset=_number(request.GET, "from", default=0),
        line=_number(request.GET, "first_line", default=1),
        max_bytes=SEARCH_BYTES,
    )
    hits = [{"line": hit.line, "offset": hit.offset, "text": hit.text} for hit in found.hits]
    return JsonResponse({"hits": hits, "next_offset": found.next_offset, "next_line": found.next_line})


def _choice(request: HttpRequest, job_id: UUID) -> LogChoice:
    job = get_job(reader_of(request), job_id)
    return log_choice(request.GET, list(job.attempts.order_by("number")))


def _window(query: QueryDict, choice: LogChoice) -> LogWindow:
    read: Read = choice.read
    first = _number(query, "first_line", default=0) or None
    forward = partial(window_from, read, size=choice.size, closed=choice.closed)
    if "from" in query:
        return forward(_number(query, "from", default=0), first_line=first)
    if "before" in query:
        return window_before(
            read, min(_number(query, "before", default=0), choice.size), first_line_after=first
        )
    if "line" in query:
        offset, line = offset_of_line(read, max(1, _number(query, "line", default=1) - LINES_BEFORE))
        return forward(offset, first_line=line)
    return log_tail(choice)


def _number(query: QueryDict | Mapping[str, Any], name: str, *, default: int) -> int:
    text = str(query.get(name, ""))
    return min(int(text), LARGEST) if text.isascii() and text.isdecimal() and len(text) < 20 else default


def _described(choice: LogChoice) -> dict[str, Any]:
    return {
        "attempt": choice.attempt.number if choice.attempt else None,
        "rank": choice.rank,
        "size": choice.size,
        "closed": choice.closed,
    }


def _plain(window: LogWindow) -> dict[str, Any]:
    return {
        "offset": window.offset,
        "next_offset": window.next_offset,
        "first_line": window.first_line,
        "lines": window.lines,
        "unfinished": window.unfinished,
    }
