"""One worker's log over REST: in pieces of whole characters, from the end, or all of its bytes."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import StreamingHttpResponse
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.requests import reader_of
from artifacts.downloads import attachment_headers
from artifacts.models import Stream
from artifacts.scratch import CHUNK
from artifacts.selectors import streams_of, tail_offset
from artifacts.services import open_stream, read_stream
from jobs import serializers as shapes
from jobs.models import Attempt, Job
from jobs.query_params import flag, integer, optional_integer
from jobs.selectors import attempts_of, get_job
from ray_runtime.protocol import StreamKind, stream_name
from refusals import NotFound

DEFAULT_BYTES = 256 * 1024
MOST_BYTES = 2 * 2**20  # of one answer
MOST_LINES = 10_000
_FAR = 2**62

PARAMETERS = [
    OpenApiParameter("attempt", int, description="Its number; the newest when left out."),
    OpenApiParameter("rank", int, description="The worker; 0 when left out."),
    OpenApiParameter("offset", int, description="In bytes; `next_offset` of the answer before."),
    OpenApiParameter("limit", int, description="Bytes of one answer, at most 2 MiB."),
    OpenApiParameter("tail", int, description="Only the last lines, so many of them."),
    OpenApiParameter("download", bool, description="All bytes as they were written, as a file."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which worker's log is asked for, and what there is of it."""

    attempt: Attempt | None
    rank: int
    ranks: list[int]
    stream: Stream | None


class JobLog(APIView):
    """One worker's log."""

    @extend_schema(operation_id="jobs_logs", parameters=PARAMETERS, responses=shapes.LogShape, tags=["jobs"])
    def get(self, request: Request, job_id: UUID) -> Response | StreamingHttpResponse:
        """A piece of the log. Invalid bytes become replacements; no piece ends within a character."""
        job = get_job(reader_of(request), job_id)
        choice = _choice(request, job)
        if flag(request, "download"):
            return _download(job, choice)
        return Response(_piece(request, choice))


def _choice(request: Request, job: Job) -> Choice:
    number = optional_integer(request, "attempt", low=1, high=2**31 - 1)
    attempts = attempts_of(job) if number is None else attempts_of(job).filter(number=number)
    attempt = attempts.first()
    if attempt is None and number is not None:
        raise NotFound(kind=_("attempt"), id=str(number))
    rank = integer(request, "rank", low=0, high=2**20, default=0)
    streams = {stream.name: stream for stream in streams_of(attempt.id)} if attempt else {}
    ranks = [slot["rank"] for slot in attempt.placement] if attempt else []
    found = [number for number in ranks if stream_name(number, StreamKind.LOG) in streams]
    return Choice(
        attempt=attempt, rank=rank, ranks=found, stream=streams.get(stream_name(rank, StreamKind.LOG))
    )


def _piece(request: Request, choice: Choice) -> dict[str, Any]:
    size = choice.stream.size_bytes if choice.stream else 0
    closed = _is_closed(choice)
    # Never less than the longest character: a reader of single bytes would not get on.
    limit = max(4, integer(request, "limit", low=1, high=MOST_BYTES, default=DEFAULT_BYTES))
    offset = min(_offset(request, choice, limit), size)
    data = _read(choice.stream, offset, limit)
    if not (closed and offset + len(data) >= size):
        data = data[: len(data) - _split_tail(data)]
    return {
        "attempt": choice.attempt.number if choice.attempt else None,
        "rank": choice.rank,
        "ranks": choice.ranks,
        "offset": offset,
        "next_offset": offset + len(data),
        "size": size,
        "text": data.decode("utf-8", "replace"),
        "closed": closed,
    }


def _offset(request: Request, choice: Choice, limit: int) -> int:
    tail = optional_integer(request, "tail", low=0, high=MOST_LINES)
    if tail is None or choice.stream is None:
        return integer(request, "offset", low=0, high=_FAR, default=0)
    stream = choice.stream
    return tail_offset(attempt_id=stream.attempt_id, name=stream.name, num_lines=tail, max_bytes=limit)


def _is_closed(choice: Choice) -> bool:
    """Nothing more will come: the stream was closed, or its attempt ended without ever writing to it."""
    if choice.stream is not None:
        return choice.stream.closed_at is not None
    return choice.attempt is not None and choice.attempt.ended_at is not None


def _read(stream: Stream | None, offset: int, limit: int) -> bytes:
    if stream is None:
        return b""
    return read_stream(attempt_id=stream.attempt_id, name=stream.name, offset=offset, limit=limit)


def _split_tail(data: bytes) -> int:
    """How many bytes at the end are the beginning of a character whose rest is still to come (UTF-8)."""
    for length in range(1, min(4, len(data) + 1)):
        first = data[-length]
        if first >= 0xC0:
            needed = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            return length if needed > length else 0
        if first < 0x80:
            return 0
    return 0


def _download(job: Job, choice: Choice) -> StreamingHttpResponse:
    number = choice.attempt.number if choice.attempt else 0
    name = f"{str(job.id)[:8]}-{number}-{choice.rank}.log"
    size = choice.stream.size_bytes if choice.stream else 0
    headers = {**attachment_headers(name), "Content-Length": str(size)}
    return StreamingHttpResponse(_all_bytes(choice.stream), headers=headers)


def _all_bytes(stream: Stream | None) -> Iterator[bytes]:
    """Up to the size that the headers promise: more may be arriving."""
    left = stream.size_bytes if stream else 0
    if stream is None or left == 0:
        return
    with closing(open_stream(stream)) as file:
        while left and (chunk := file.read(min(CHUNK, left))):
            left -= len(chunk)
            yield chunk
