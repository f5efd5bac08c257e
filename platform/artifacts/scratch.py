"""Temporary files beside the data, without a name: gone with their last reader, also after a crash."""

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol

from django.conf import settings
from django.utils.functional import Promise

from artifacts.errors import TooLarge

CHUNK = 256 * 1024


class Readable(Protocol):
    """Whatever bytes come from: a request, an open file, a test's buffer."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""


def scratch_file() -> IO[bytes]:
    """A new nameless file in the data folder."""
    folder: Path = settings.ENV.data_dir / "uploads"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return tempfile.TemporaryFile(dir=folder)


def copy_within(source: Readable, target: IO[bytes], *, limit_bytes: int, what: str | Promise) -> str:
    """Copy all of it, or raise `TooLarge` at the first byte beyond the limit; the SHA-256 of it."""
    digest = hashlib.sha256()
    size = 0
    for chunk in chunks_of(source):
        size += len(chunk)
        if size > limit_bytes:
            raise TooLarge.of(what, limit_bytes=limit_bytes)
        digest.update(chunk)
        target.write(chunk)
    target.flush()
    return digest.hexdigest()


def chunks_of(source: Readable) -> Iterator[bytes]:
    """The bytes in pieces that fit into memory."""
    while chunk := source.read(CHUNK):
        yield chunk
