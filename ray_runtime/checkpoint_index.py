"""Which checkpoints exist, which are whole or damaged, and which may be removed. Standard library only.

Layout: `<dir>/step-00000120/` holds shard files and, written last by atomic rename, `manifest.json`. A folder
without a manifest is no checkpoint. Nothing here unpickles: the shards were written by user code.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

MANIFEST = "manifest.json"
DAMAGED = "damaged.json"
VERSION = 1
_READING = ".reading-"
_READING_SECONDS = 3600.0  # a reader that was killed must not keep a checkpoint for ever
_FOLDER = re.compile(r"step-(\d{8,})\Z")


@dataclass(frozen=True, slots=True)
class ShardFile:
    """One file of a checkpoint: path relative to its folder, size in bytes, SHA-256 in hex."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What makes a folder a checkpoint: the step it was taken after and every file that belongs to it."""

    step: int
    world_size: int
    files: tuple[ShardFile, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)


def folder_of(directory: Path, step: int) -> Path:
    """Where the checkpoint taken after `step` steps lives."""
    return directory / f"step-{step:08d}"


def step_of(folder: Path) -> int | None:
    """The step in a checkpoint folder's name, or None when it is not one."""
    found = _FOLDER.match(folder.name)
    return int(found.group(1)) if found else None


def newest_whole(directory: Path, *, checksums: bool = False) -> Path | None:
    """The whole checkpoint with the highest step number (not the newest file time), or None.

    Sizes are always compared; `checksums=True` also reads every byte.
    """
    return next((f for f in committed(directory) if not verify(f, checksums=checksums)), None)


def committed(directory: Path) -> list[Path]:
    """Folders that have a manifest and no mark of damage, highest step first; files are not looked at."""
    return [f for f in _folders(directory) if (f / MANIFEST).is_file() and not (f / DAMAGED).exists()]


def verify(folder: Path, *, checksums: bool = True) -> list[str]:
    """What is wrong with a checkpoint, one line for each file; empty when it is whole."""
    if (folder / DAMAGED).exists():
        return ["it was marked as damaged"]
    try:
        manifest = read_manifest(folder)
    except (OSError, ValueError) as error:
        return [f"{MANIFEST}: {error}"]
    return check_files(folder, manifest.files, checksums=checksums)


def check_files(folder: Path, files: Iterable[ShardFile], *, checksums: bool = True) -> list[str]:
    """As `verify`, for some of the files (ranks share the reading)."""
    return [problem for file in files if (problem := _file_problem(folder, file, checksums))]


def read_manifest(folder: Path) -> Manifest:
    """Parse a folder's manifest; raises `ValueError` when it does not say what a manifest must say."""
    data = json.loads((folder / MANIFEST).read_text())
    try:
        files = tuple(ShardFile(_inside(f["path"]), int(f["size"]), str(f["sha256"])) for f in data["files"])
        manifest = Manifest(step=int(data["step"]), world_size=int(data["world_size"]), files=files)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a manifest: {error!r}") from error
    if data.get("version") != VERSION or manifest.step != step_of(folder):
        raise ValueError(f"version {data.get('version')} of step {manifest.step} does not belong here")
    return manifest


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Make the folder a checkpoint: the rename is the commit, and the disk has everything before it."""
    _write_whole(folder / MANIFEST, {"version": VERSION, **dataclasses.asdict(manifest)})
    _flush_folder(folder.parent)


def describe(folder: Path, names: Iterable[str]) -> list[ShardFile]:
    """Size and checksum of the named files, for a manifest."""
    return [ShardFile(n, (folder / n).stat().st_size, _sha256(folder / n)) for n in sorted(names)]


def mark_damaged(folder: Path, why: str) -> None:
    """Never choose this checkpoint again; the reason stays beside it for people to read."""
    with contextlib.suppress(OSError):  # a read-only folder of another job: passed over all the same
        _write_whole(folder / DAMAGED, {"why": why, "at_ms": time.time_ns() // 1_000_000})


def apply_retention(directory: Path, keep: int) -> list[Path]:
    """Remove all but the newest `keep` whole checkpoints, and what is unfinished and older than those.

    Damaged ones count for nothing; the last whole one always stays, as does one that is being read. Returns
    what was removed. Only the one process that commits checkpoints may call it.
    """
    whole = [f for f in committed(directory) if not verify(f, checksums=False)]
    kept = whole[: max(1, keep)]
    if not kept:
        return []
    oldest = step_of(kept[-1]) or 0
    gone = [f for f in _folders(directory) if (step_of(f) or 0) < oldest and not _is_read(f)]
    for folder in gone:
        remove(folder)
    return gone


def remove(folder: Path) -> None:
    """Delete a checkpoint so that no reader ever sees half of one: the manifest goes first."""
    with contextlib.suppress(OSError):
        (folder / MANIFEST).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def reading(folder: Path) -> Iterator[None]:
    """While the block runs, retention (of the job that owns the folder) leaves the checkpoint alone."""
    lease = folder / f"{_READING}{uuid.uuid4().hex}"
    with contextlib.suppress(OSError):
        lease.touch()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            lease.unlink(missing_ok=True)


def _folders(directory: Path) -> list[Path]:
    try:
        found = [(step, f) for f in directory.iterdir() if (step := step_of(f)) is not None and f.is_dir()]
    except OSError:
        return []
    return [folder for _, folder in sorted(found, reverse=True)]


def _is_read(folder: Path) -> bool:
    def fresh(lease: Path) -> bool:
        with contextlib.suppress(OSError):
            return time.time() - lease.stat().st_mtime < _READING_SECONDS
        return False

    return any(fresh(lease) for lease in folder.glob(f"{_READING}*"))


def _file_problem(folder: Path, file: ShardFile, checksums: bool) -> str | None:
    path = folder / file.path
    try:
        size = path.stat().st_size
        if size != file.size:
            return f"{file.path}: {size} bytes, not {file.size}"
        if checksums and _sha256(path) != file.sha256:
            return f"{file.path}: the checksum differs"
    except OSError as error:
        return f"{file.path}: {error.strerror}"
    return None


def _inside(path: str) -> str:
    """The path, if it stays inside the folder: user code writes manifests, the platform reads them."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\0" in path:
        raise ValueError(f"a path leads outside: {path!r}")
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_whole(path: Path, document: dict[str, Any]) -> None:
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with draft.open("w") as file:
        json.dump(document, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
