"""What an agent keeps on disk of its attempts, so that its successor can tell their end and ship the rest.

Blocking functions: the agent calls them in threads.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ray_runtime.environment import Folders
from ray_runtime.messages import RankExit
from ray_runtime.protocol import LaunchSpec, StreamKind, WorkerEvent, stream_name

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_SPEC = "spec.json"
_TAIL_BYTES = 16 << 10
_EVENTS_TAIL_BYTES = 256 << 10


def is_safe_id(attempt_id: str) -> bool:
    """Whether an attempt's id may name a folder."""
    return _ID.fullmatch(attempt_id) is not None


def make_folders(folders: Folders, spec: LaunchSpec) -> None:
    """Create an attempt's folders; the spec with the attempt's token is readable by us alone."""
    folders.root.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in (folders.work, folders.output, folders.scratch):
        folder.mkdir(mode=0o700, exist_ok=True)
    write_atomically(folders.root / _SPEC, json.dumps(spec.to_json()))


def left_attempts(root: Path) -> Iterator[tuple[Folders, LaunchSpec]]:
    """The attempts that an earlier agent has left here; a folder without a spec is removed."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in sorted(root.iterdir()):
        try:
            spec = LaunchSpec.from_json(json.loads((folder / _SPEC).read_text()))
        except (OSError, ValueError, TypeError):
            shutil.rmtree(folder, ignore_errors=True)
            continue
        yield Folders(root=folder), spec


def read_exits(folders: Folders) -> tuple[RankExit, ...]:
    """The exits that a rank host has noted; a torn last line is left out."""
    exits = []
    with suppress(FileNotFoundError, ValueError):
        for line in folders.exits.read_text().splitlines():
            data = json.loads(line)
            exits.append(RankExit(rank=data["exit"], code=data["code"], at_ms=data["at_ms"]))
    return tuple(exits)


def read_last_lines(path: Path, *, limit: int = 20) -> tuple[str, ...]:
    """The end of a log as text, for an end report."""
    lines = _tail(path, _TAIL_BYTES).decode(errors="replace").splitlines()
    return tuple(line[-500:] for line in lines[-limit:])


def said_finished(folders: Folders, ranks: Sequence[int]) -> bool:
    """Whether one of these ranks said that its work is complete."""
    return any(_has_finished(folders.stream(stream_name(rank, StreamKind.EVENTS))) for rank in ranks)


def stream_files(folders: Folders, ranks: Sequence[int]) -> list[tuple[str, Path]]:
    """Every stream of these ranks: its name and its file."""
    names = [stream_name(rank, kind) for rank in ranks for kind in StreamKind]
    return [(name, folders.stream(name)) for name in names]


def remove_work(folders: Folders) -> None:
    """Free the disk that only the running program needed."""
    shutil.rmtree(folders.work, ignore_errors=True)
    shutil.rmtree(folders.scratch, ignore_errors=True)


def remove_all(folders: Folders) -> None:
    """Nothing of the attempt is needed here any more."""
    shutil.rmtree(folders.root, ignore_errors=True)


def write_atomically(path: Path, text: str) -> None:
    """Replace a small private file as a whole."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    partial.replace(path)


def _has_finished(path: Path) -> bool:
    for line in reversed(_tail(path, _EVENTS_TAIL_BYTES).splitlines()):
        with suppress(ValueError, AttributeError):
            if json.loads(line).get("kind") == WorkerEvent.FINISHED:
                return True
    return False


def _tail(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            return os.pread(file.fileno(), limit, max(0, size - limit))
    except OSError:
        return b""
