"""What is in a zip, tar or tar.gz that somebody sent: one member after the other, nothing believed."""

import gzip
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import IO

from django.utils.translation import gettext_lazy as _

from artifacts.archives.names import decoded_name
from artifacts.errors import ArchiveRefused, TooLarge
from artifacts.scratch import CHUNK, Readable, chunks_of

LARGEST_HEADER = 2**20  # a tar header's own payload (a long name) is read into memory at once
# What the standard library raises on archives that are damaged, cut off, encrypted or made to harm.
BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    OSError,  # a seek to nowhere; gzip's own
    EOFError,
    struct.error,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
    LookupError,
)
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others are unpacked whole blocks at a time
_ENCRYPTED = 0x1
_ENTRY_MARK = b"PK\x01\x02"
_HEADERS_WITH_PAYLOAD = frozenset(
    {
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much is accepted: bytes as sent, bytes unpacked, bytes of what is kept, and members."""

    sent_bytes: int
    unpacked_bytes: int
    kept_bytes: int
    num_members: int


class Kind(Enum):
    """What a member claims to be."""

    FILE = auto()
    FOLDER = auto()
    LINK = auto()
    HARD_LINK = auto()
    SPECIAL = auto()  # a device, a pipe, a socket


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One entry as the archive has it. A file's `content` is read before the next member is asked for."""

    name: str
    kind: Kind
    is_executable: bool = False
    target: str = ""
    size: int = 0  # as claimed
    content: Readable | None = None


def members_of(file: IO[bytes], *, limits: Limits) -> Iterator[Member]:
    """Each member; `ArchiveRefused` when it cannot be read, or is none of the three formats."""
    head = file.read(512)
    file.seek(0)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _unbroken(_zip_members(file, limits))
    if head.startswith(b"\x1f\x8b"):
        return _unbroken(_tar_members(gzip.GzipFile(fileobj=file), limits))
    if head[257:262] == b"ustar":
        return _unbroken(_tar_members(file, limits))
    raise ArchiveRefused.of("", _("this is not a zip, tar or tar.gz archive"))


def damage(error: Exception, member: str = "") -> ArchiveRefused:
    """The refusal for what the standard library could not read."""
    return ArchiveRefused.of(member, _("it is damaged, cut off or encrypted (%(error)s)") % {"error": error})


class _Sound:
    """A file's bytes; opened when first read, and refused when they cannot be."""

    def __init__(self, open_content: Callable[[], Readable | None], member: str) -> None:
        self._open = open_content
        self._member = member
        self._file: Readable | None = None

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        try:
            self._file = self._file or self._open()
            return self._file.read(size) if self._file else b""
        except BROKEN as error:
            raise damage(error, self._member) from None


def _unbroken(members: Iterable[Member]) -> Iterator[Member]:
    iterator = iter(members)
    while True:
        try:
            member = next(iterator)
        except StopIteration:
            return
        except BROKEN as error:
            raise damage(error) from None
        yield member


class _Meter:
    """Counts what comes out of a decompressor, so that a member nobody looks at cannot cost for ever."""

    def __init__(self, source: Readable, limit_bytes: int) -> None:
        self._source = source
        self._limit_bytes = limit_bytes
        self._left = limit_bytes

    def read(self, size: int) -> bytes:
        data = self._source.read(min(size, CHUNK))
        self._left -= len(data)
        if self._left < 0:
            raise TooLarge.of(_("The unpacked archive"), limit_bytes=self._limit_bytes)
        return data


class _Header(tarfile.TarInfo):
    """A tar header that refuses to be larger than any honest one, before its payload is read."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Header":
        header = super().frombuf(buf, encoding, errors)
        if header.type in _HEADERS_WITH_PAYLOAD and header.size > LARGEST_HEADER:
            raise ArchiveRefused.of(header.name, _("its header is too large"))
        return header


def _tar_members(source: Readable, limits: Limits) -> Iterator[Member]:
    # Headers and padding come on top of the contents, hence the double; contents are counted for themselves.
    meter = _Meter(source, 2 * limits.unpacked_bytes)
    with tarfile.open(fileobj=meter, mode="r|", tarinfo=_Header, encoding="utf-8") as archive:  # type: ignore[call-overload]  # a stream needs `read` alone
        for header in archive:
            yield _tar_member(archive, header)
    for _rest in chunks_of(meter):
        pass  # up to the compressed stream's own checksum, which nobody else would look at


def _tar_member(archive: tarfile.TarFile, header: tarfile.TarInfo) -> Member:
    raw = header.name.encode("utf-8", "surrogateescape")
    target = header.linkname.encode("utf-8", "surrogateescape")
    return Member(
        name=decoded_name(raw),
        kind=_tar_kind(header),
        is_executable=bool(header.mode & 0o111),
        target=decoded_name(target),
        size=header.size,
        content=_Sound(lambda: archive.extractfile(header), header.name),
    )


def _tar_kind(header: tarfile.TarInfo) -> Kind:
    if header.isreg():
        return Kind.FILE
    if header.isdir():
        return Kind.FOLDER
    if header.issym():
        return Kind.LINK
    return Kind.HARD_LINK if header.islnk() else Kind.SPECIAL


def _zip_members(file: IO[bytes], limits: Limits) -> Iterator[Member]:
    _count_entries(file, limits)
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            yield _zip_member(archive, info)


def _count_entries(file: IO[bytes], limits: Limits) -> None:
    """Refuse before the library makes an object of each of some millions of entries."""
    num_entries = 0
    tail = b""
    while chunk := file.read(CHUNK):
        # The tail is shorter than the mark, so no mark is counted twice.
        num_entries += (tail + chunk).count(_ENTRY_MARK)
        tail = chunk[-(len(_ENTRY_MARK) - 1) :]
    file.seek(0)
    if num_entries > limits.num_members:
        raise too_many(limits)


def too_many(limits: Limits) -> ArchiveRefused:
    """The refusal of an archive with too many members."""
    return ArchiveRefused.of("", _("it has more than %(most)d members") % {"most": limits.num_members})


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    # `filename` is cut at a NUL by the library; `orig_filename` is what the archive says.
    is_utf8 = bool(info.flag_bits & 0x800)
    name = info.orig_filename if is_utf8 else decoded_name(info.orig_filename.encode("cp437"))
    if info.flag_bits & _ENCRYPTED or info.compress_type not in _ZIP_METHODS:
        raise ArchiveRefused.of(name, _("it is encrypted, or not stored as plain or deflated data"))
    mode = info.external_attr >> 16 if info.create_system == 3 else 0
    kind = _zip_kind(name, mode)
    target = ""
    if kind is Kind.LINK:
        with archive.open(info) as content:
            target = decoded_name(content.read(4096))
    return Member(
        name=name,
        kind=kind,
        is_executable=bool(mode & 0o111),
        target=target,
        size=info.file_size,
        content=_Sound(lambda: archive.open(info), name),
    )


def _zip_kind(name: str, mode: int) -> Kind:
    if stat.S_ISLNK(mode):
        return Kind.LINK
    if name.endswith("/") or stat.S_ISDIR(mode):
        return Kind.FOLDER
    return Kind.FILE if stat.S_IFMT(mode) in (0, stat.S_IFREG) else Kind.SPECIAL
