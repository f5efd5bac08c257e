"""Packs a code folder: the same files give the same bytes, so that a repeated submission is equal."""

import gzip
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from gangline.errors import BadUsage, Detail
from gangline.units import size
from gangline.words import say

IGNORE_FILES = (".ganglineignore", ".gitignore")
ALWAYS_IGNORED = (".git/", "__pycache__/", "*.pyc", ".venv/", ".DS_Store")
DEFAULT_LIMIT_BYTES = 256 * 1024**2


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of an ignore file: what it matches, and whether it takes files back in (`!`)."""

    glob: str
    anchored: bool
    only_folders: bool
    keeps: bool

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Whether this line speaks about `path` (relative, with slashes)."""
        if self.only_folders and not is_folder:
            return False
        return _glob_matches(path if self.anchored else path.rsplit("/", 1)[-1], self.glob)


@dataclass(slots=True)
class _Packing:
    """What has been packed so far, against the limit."""

    limit_bytes: int
    total_bytes: int = 0
    largest: list[tuple[int, str]] = field(default_factory=list)

    def add(self, path: str, num_bytes: int) -> None:
        """Count one file; raise as soon as the whole is too large."""
        self.total_bytes += num_bytes
        self.largest = sorted([*self.largest, (num_bytes, path)], reverse=True)[:5]
        if self.total_bytes > self.limit_bytes:
            details = tuple(Detail(name, size(length)) for length, name in self.largest)
            raise BadUsage(
                say(
                    "The code is larger than {limit}. Its largest files so far:", limit=size(self.limit_bytes)
                ),
                details=details,
                todo=say("List what the job does not need in .ganglineignore (the patterns of .gitignore)."),
            )


def pack(folder: Path, target: Path, *, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> int:
    """Write `folder` to `target` as tar.gz, ordered, without times and owners; the number of files."""
    packing, count = _Packing(limit_bytes), 0
    with (
        target.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0, compresslevel=6) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path, relative in _files(folder, read_patterns(folder)):
            packing.add(relative, path.lstat().st_size)
            _add(tar, path, relative)
            count += 1
    if not count:
        raise BadUsage(
            say("{folder} holds no file to upload.", folder=folder),
            todo=say("Leave out `code` if the job needs none."),
        )
    return count


def read_patterns(folder: Path) -> tuple[Pattern, ...]:
    """The patterns in force: `.ganglineignore` if there is one, else `.gitignore`, after our own few."""
    lines = list(ALWAYS_IGNORED)
    chosen = next((folder / name for name in IGNORE_FILES if (folder / name).is_file()), None)
    if chosen:
        lines += chosen.read_text(encoding="utf-8", errors="replace").splitlines()
    return tuple(_pattern(line.strip()) for line in lines if line.strip() and not line.startswith("#"))


def _pattern(line: str) -> Pattern:
    keeps, line = line.startswith("!"), line.removeprefix("!")
    only_folders, line = line.endswith("/"), line.rstrip("/")
    return Pattern(line.lstrip("/"), "/" in line, only_folders, keeps)


def _glob_matches(path: str, glob: str) -> bool:
    parts, globs = path.split("/"), glob.split("/")
    return _parts_match(parts, globs)


def _parts_match(parts: list[str], globs: list[str]) -> bool:
    if not globs:
        return not parts
    if globs[0] == "**":
        return any(_parts_match(parts[start:], globs[1:]) for start in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], globs[0]) and _parts_match(parts[1:], globs[1:])


def _ignored(relative: str, patterns: tuple[Pattern, ...], *, is_folder: bool) -> bool:
    spoken = [pattern for pattern in patterns if pattern.matches(relative, is_folder=is_folder)]
    return bool(spoken) and not spoken[-1].keeps


def _files(folder: Path, patterns: tuple[Pattern, ...], prefix: str = "") -> Iterator[tuple[Path, str]]:
    for entry in sorted(os.scandir(folder), key=lambda found: found.name):
        relative = prefix + entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if _ignored(relative, patterns, is_folder=is_folder):
            continue
        if is_folder:
            yield from _files(Path(entry.path), patterns, f"{relative}/")
        else:
            yield Path(entry.path), relative


def _add(tar: tarfile.TarFile, path: Path, relative: str) -> None:
    mode = path.lstat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        return  # sockets and pipes are no code
    member = tar.gettarinfo(path, relative)
    member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
    member.mode = 0o755 if mode & 0o100 else 0o644
    if member.islnk():  # a second name of a file already packed: stored as a file of its own
        member.type, member.linkname = tarfile.REGTYPE, ""
        member.size = path.stat().st_size
    if member.isreg():
        with path.open("rb") as file:
            tar.addfile(member, file)
    else:
        tar.addfile(member)
