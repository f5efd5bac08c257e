"""One form for all archives: a tar.gz in path order without times, owners and odd modes."""

import gzip
import hashlib
import tarfile
from contextlib import closing
from dataclasses import dataclass
from typing import IO

from django.utils.translation import gettext_lazy as _

from artifacts.archives.members import Kind, Limits, Member, members_of
from artifacts.archives.pool import Pool
from artifacts.archives.tree import Entry, Tree
from artifacts.errors import TooLarge
from artifacts.scratch import Readable, chunks_of, copy_within, scratch_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Canonical:
    """What was written: its checksum, its size, and how many files it holds."""

    sha256: str
    size_bytes: int
    num_files: int


def canonicalise(source: Readable, target: IO[bytes], *, limits: Limits) -> Canonical:
    """Read an archive from anywhere, check all of it, and write it in canonical form.

    Raises `ArchiveRefused` or `TooLarge`. On disk are what was sent, the contents compressed and what is
    kept, never the unpacked archive: one that expands to terabytes costs no more than its limit.
    """
    with closing(scratch_file()) as kept:
        pool = Pool(kept, unpacked_bytes=limits.unpacked_bytes, kept_bytes=limits.kept_bytes)
        with closing(scratch_file()) as sent:
            copy_within(source, sent, limit_bytes=limits.sent_bytes, what=_("The archive"))
            sent.seek(0)
            tree = _read(sent, pool, limits)
        _write(tree, pool, target)
    return _measure(tree, target, limits)


def _read(sent: IO[bytes], pool: Pool, limits: Limits) -> Tree:
    tree = Tree(limits)
    for member in members_of(sent, limits=limits):
        if (path := tree.place(member)) is not None:
            tree.add(_entry(member, path, tree, pool))
    return tree


def _entry(member: Member, path: str, tree: Tree, pool: Pool) -> Entry:
    match member.kind:
        case Kind.LINK:
            return Entry(path=path, kind=Kind.LINK, target=tree.link_target(member, path))
        case Kind.HARD_LINK:
            present = tree.hard_link_content(member)
            pool.count(present.content.size if present.content else 0)
            return Entry(
                path=path, kind=Kind.FILE, is_executable=present.is_executable, content=present.content
            )
        case Kind.FILE:
            return _file_entry(member, path, pool)
        case _:
            return Entry(path=path, kind=Kind.FOLDER)


def _file_entry(member: Member, path: str, pool: Pool) -> Entry:
    pool.check_claim(member.size)
    content = pool.add(member.content) if member.content else None
    return Entry(path=path, kind=Kind.FILE, is_executable=member.is_executable, content=content)


def _write(tree: Tree, pool: Pool, target: IO[bytes]) -> None:
    # No file name and time zero in gzip's own header, or equal trees would differ.
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=target, compresslevel=6, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT, encoding="utf-8") as archive,
    ):
        for entry in tree.in_order():
            header = _header(entry)
            archive.addfile(header, pool.open(entry.content) if entry.content else None)  # type: ignore[arg-type]  # `read` is all that is called
    target.flush()


def _header(entry: Entry) -> tarfile.TarInfo:
    header = tarfile.TarInfo(entry.path)
    match entry.kind:
        case Kind.FOLDER:
            header.type, header.mode = tarfile.DIRTYPE, 0o755
        case Kind.LINK:
            header.type, header.mode, header.linkname = tarfile.SYMTYPE, 0o777, entry.target
        case _:
            header.mode = 0o755 if entry.is_executable else 0o644
            header.size = entry.content.size if entry.content else 0
    return header


def _measure(tree: Tree, target: IO[bytes], limits: Limits) -> Canonical:
    size = target.tell()
    if size > limits.kept_bytes:
        raise TooLarge.of(_("The archive's content"), limit_bytes=limits.kept_bytes)
    target.seek(0)
    digest = hashlib.sha256()
    for chunk in chunks_of(target):
        digest.update(chunk)
    target.seek(0)
    num_files = sum(entry.kind is Kind.FILE for entry in tree.in_order())
    return Canonical(sha256=digest.hexdigest(), size_bytes=size, num_files=num_files)
