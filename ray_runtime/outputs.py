"""Which files of an attempt's output folder are uploaded: regular files inside it, never through a link."""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_OUTPUT_FILES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFile:
    """One file to upload: its name below the output folder and its content's hash."""

    path: str
    sha256: str
    size_bytes: int


def list_outputs(folder: Path) -> list[OutputFile]:
    """All regular files below `folder`, in name order. Blocking: call in a thread."""
    found = []
    for name in _names(folder):
        descriptor = open_inside(folder, name)
        if descriptor is None:
            continue
        with os.fdopen(descriptor, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found.append(OutputFile(path=name, sha256=digest, size_bytes=size))
    return found


def open_inside(folder: Path, name: str) -> int | None:
    """Open a regular file below `folder` for reading; None if any step of its path is a link or no file.

    The processes that wrote the folder are gone by now, so a path cannot change under us; still each step is
    opened without following links.
    """
    *parents, last = name.split("/")
    if not {"", ".", ".."}.isdisjoint((*parents, last)):
        return None
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        for parent in parents:
            there = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = there
        return _open_regular(last, here)
    except OSError:
        return None
    finally:
        os.close(here)


def _open_regular(name: str, folder: int) -> int | None:
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def _names(folder: Path) -> Iterator[str]:
    count = 0
    for parent, folders, files in os.walk(folder, followlinks=False):
        folders.sort()
        for file in sorted(files):
            if count >= MAX_OUTPUT_FILES:
                return
            count += 1
            yield os.path.relpath(os.path.join(parent, file), folder)  # noqa: PTH118  # os.walk's own strings
