"""Live byte streams of workers: appended exactly once by offset, read in ranges, shipped away when closed."""

import os
import re
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from artifacts.blobs import Reader, blobs
from artifacts.errors import StreamClosed
from artifacts.models import Stream
from refusals import Invalid, NotFound, Problem

SHIPPED_AT_ONCE = 20
_NAME = re.compile(r"rank-\d{1,6}\.(log|events)", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """What became of an append: the stream's size now, and which bytes were new.

    `gap`: bytes before these are missing, nothing was taken; send again from `size` on.
    """

    size: int
    fresh: bytes = b""
    gap: bool = False


def append_stream(
    *, attempt_id: UUID, job_id: UUID, name: str, offset: int, body: bytes, final: bool, now: datetime
) -> Appended:
    """Add what is new of `body`, which begins at `offset` of the stream; `final` closes it behind.

    Any repeat and any overlap is harmless. What is done with `fresh` in the caller's transaction is done
    exactly once. Raises `StreamClosed` for bytes behind the end.
    """
    _check(name, offset)
    with transaction.atomic():
        stream = _locked(attempt_id, job_id, name)
        if offset > stream.size_bytes:
            return Appended(size=stream.size_bytes, gap=True)
        fresh = body[stream.size_bytes - offset :]
        _add(stream, fresh)
        if final and stream.closed_at is None:
            _close(stream, now)
        stream.save(update_fields=["size_bytes", "num_lines", "closed_at"])
        return Appended(size=stream.size_bytes, fresh=fresh)


def read_stream(*, attempt_id: UUID, name: str, offset: int, limit: int) -> bytes:
    """At most `limit` bytes from `offset` on; none beyond the end, or of a stream that there is not (yet)."""
    stream = Stream.objects.filter(attempt_id=attempt_id, name=name).first()
    if stream is None or not 0 <= offset < stream.size_bytes:
        return b""
    wanted = min(limit, stream.size_bytes - offset)
    with closing(open_stream(stream, offset=offset)) as file:
        return _read_fully(file, wanted)


def open_stream(stream: Stream, *, offset: int = 0) -> Reader:
    """The stream's bytes from `offset` on. More may follow `size_bytes`: what is being written just now."""
    path = _path(stream)
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return blobs().open(_key(stream), offset=offset)
    file.seek(offset)
    return file


def ship_streams(*, now: datetime) -> int:
    """Move closed streams to the store if it is a remote one; how many were moved. Safe to repeat."""
    if not blobs().is_remote:
        return 0
    waiting = Stream.objects.filter(closed_at__isnull=False, shipped_at__isnull=True).order_by("id")
    shipped = [_ship(stream, now) for stream in waiting[:SHIPPED_AT_ONCE]]
    return sum(shipped)


def _check(name: str, offset: int) -> None:
    problems = []
    if not _NAME.fullmatch(name):
        problems.append(Problem("name", _("must be rank-<number>.log or rank-<number>.events")))
    if offset < 0:
        problems.append(Problem("offset", _("must not be negative")))
    if problems:
        raise Invalid(details=problems)


def _locked(attempt_id: UUID, job_id: UUID, name: str) -> Stream:
    Stream.objects.get_or_create(attempt_id=attempt_id, name=name, defaults={"job_id": job_id})
    return Stream.objects.select_for_update(no_key=True).get(attempt_id=attempt_id, name=name)


def _add(stream: Stream, fresh: bytes) -> None:
    if not fresh:
        return
    if stream.closed_at is not None:
        raise StreamClosed(name=stream.name, size=stream.size_bytes)
    _write_at(_path(stream), stream.size_bytes, fresh)
    stream.size_bytes += len(fresh)
    stream.num_lines += fresh.count(b"\n")


def _write_at(path: Path, offset: int, data: bytes) -> None:
    """Write at the very offset: bytes of an append whose transaction was lost are written over."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        view = memoryview(data)
        while view:
            written = os.pwrite(descriptor, view, offset)
            view, offset = view[written:], offset + written
    finally:
        os.close(descriptor)


def _close(stream: Stream, now: datetime) -> None:
    """End the stream; a last line without a line break counts too."""
    stream.closed_at = now
    if stream.size_bytes == 0:
        return
    with closing(open_stream(stream, offset=stream.size_bytes - 1)) as file:
        stream.num_lines += file.read(1) != b"\n"
    os.truncate(_path(stream), stream.size_bytes)


def _ship(stream: Stream, now: datetime) -> bool:
    """Upload, note it, and only then remove the file: a crash between leaves both, never none."""
    path = _path(stream)
    if path.exists():
        with path.open("rb") as file:
            blobs().put(_key(stream), file)
    elif stream.size_bytes and not blobs().exists(_key(stream)):
        raise NotFound(kind=_("file"), id=_key(stream))
    noted = Stream.objects.filter(pk=stream.pk, shipped_at__isnull=True).update(shipped_at=now)
    path.unlink(missing_ok=True)
    return bool(noted)


def _read_fully(file: Reader, wanted: int) -> bytes:
    parts = []
    while wanted > 0 and (part := file.read(wanted)):
        parts.append(part)
        wanted -= len(part)
    return b"".join(parts)


def _path(stream: Stream) -> Path:
    folder: Path = settings.ENV.data_dir / "streams"
    return folder / str(stream.attempt_id) / stream.name


def _key(stream: Stream) -> str:
    return f"streams/{stream.attempt_id}/{stream.name}"
