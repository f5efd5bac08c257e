"""Contents of archive members on their way: compressed one by one, so that sorting needs little disk."""

import zlib
from dataclasses import dataclass
from typing import IO

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from artifacts.errors import TooLarge
from artifacts.scratch import CHUNK, Readable, chunks_of

_WHAT: str | Promise = _("The unpacked archive")


@dataclass(frozen=True, slots=True)
class Content:
    """Where one file's bytes lie in the pool, and how many they are."""

    offset: int
    size: int


class Pool:
    """A scratch file of compressed contents with a limit on what they were before and are now."""

    def __init__(self, file: IO[bytes], *, unpacked_bytes: int, kept_bytes: int) -> None:
        self._file = file
        self._limit_bytes = self._left = unpacked_bytes
        self._kept_limit_bytes = kept_bytes

    def add(self, source: Readable) -> Content:
        """Take one file's bytes in; `TooLarge` as soon as the limit is passed."""
        offset, size = self._file.tell(), 0
        packer = zlib.compressobj(1)
        for chunk in chunks_of(source):
            self.count(len(chunk))
            size += len(chunk)
            self._write(packer.compress(chunk))
        self._write(packer.flush())
        return Content(offset, size)

    def count(self, num_bytes: int) -> None:
        """Count bytes that the unpacked archive will have, before they are there."""
        self._left -= num_bytes
        if self._left < 0:
            raise TooLarge.of(_WHAT, limit_bytes=self._limit_bytes)

    def check_claim(self, num_bytes: int) -> None:
        """Refuse at once what claims to be larger than what is left."""
        if num_bytes > self._left:
            raise TooLarge.of(_WHAT, limit_bytes=self._limit_bytes)

    def open(self, content: Content) -> "_Unpacked":
        """The file's bytes again."""
        self._file.seek(content.offset)
        return _Unpacked(self._file)

    def _write(self, packed: bytes) -> None:
        if self._file.tell() + len(packed) > self._kept_limit_bytes:
            raise TooLarge.of(_("The archive's content"), limit_bytes=self._kept_limit_bytes)
        self._file.write(packed)


class _Unpacked:
    """Reads one content of the pool."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._unpacker = zlib.decompressobj()
        self._rest = b""

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none only at the end."""
        data = b""
        while not data and not self._unpacker.eof:
            self._rest = self._rest or self._file.read(CHUNK)
            data = self._unpacker.decompress(self._rest, size)
            self._rest = self._unpacker.unconsumed_tail
        return data
