"""What files there are of a job or an attempt."""

from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from artifacts.models import Checkpoint, Output, Stream
from artifacts.services.streams import read_stream
from refusals import NotFound

TAIL_BLOCK = 64 * 1024


def streams_of(attempt_id: UUID) -> QuerySet[Stream]:
    """The attempt's streams by name."""
    return Stream.objects.filter(attempt_id=attempt_id).order_by("name")


def stream_of(attempt_id: UUID, name: str) -> Stream | None:
    """One stream, or None before its first byte."""
    return Stream.objects.filter(attempt_id=attempt_id, name=name).first()


def tail_offset(*, attempt_id: UUID, name: str, num_lines: int, max_bytes: int) -> int:
    """Where the last `num_lines` lines begin; at most `max_bytes` before the end (then perhaps in a line)."""
    stream = stream_of(attempt_id, name)
    if stream is None or num_lines <= 0:
        return stream.size_bytes if stream else 0
    floor = max(0, stream.size_bytes - max_bytes)
    breaks_left = num_lines
    start = end = stream.size_bytes
    while start > floor:
        start = max(floor, end - TAIL_BLOCK)
        block = read_stream(attempt_id=attempt_id, name=name, offset=start, limit=end - start)
        # The break that ends the last line is not the one that begins it.
        searched = block[:-1] if end == stream.size_bytes else block
        if (found := searched.count(b"\n")) >= breaks_left:
            return start + _nth_break_from_end(searched, breaks_left) + 1
        breaks_left -= found
        end = start
    return floor


def outputs_of(job_id: UUID) -> QuerySet[Output]:
    """The files that the job's attempts left, by path."""
    return Output.objects.filter(job_id=job_id).order_by("path", "created_at", "id")


def output_of(job_id: UUID, output_id: UUID) -> Output:
    """One file of this very job."""
    output = Output.objects.filter(job_id=job_id, id=output_id).first()
    if output is None:
        raise NotFound(kind=_("file"), id=str(output_id))
    return output


def checkpoints_of(job_id: UUID) -> QuerySet[Checkpoint]:
    """The job's checkpoints, newest step first."""
    return Checkpoint.objects.filter(job_id=job_id).order_by("-step", "id")


def _nth_break_from_end(block: bytes, n: int) -> int:
    position = len(block)
    for _break in range(n):
        position = block.rindex(b"\n", 0, position)
    return position
