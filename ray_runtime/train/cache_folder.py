"""The folder of this account where corpora and measurements are kept between runs. Standard library only."""

import contextlib
import fcntl
import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/gangline`, `~/.cache/gangline`, or our own below the temp folder; created 0700."""
    for folder in _candidates():
        with contextlib.suppress(OSError, RuntimeError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.stat().st_uid == os.geteuid() and os.access(folder, os.W_OK):
                return folder
    return Path(
        tempfile.mkdtemp(prefix="gangline-")
    )  # somebody else owns all of the names: trust none of them


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process of this node at a time may be inside; the lock goes with the process."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def replace_whole(path: Path, body: bytes) -> None:
    """Write a file that others see either not at all or complete."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    draft.write_bytes(body)
    draft.replace(path)


def _candidates() -> Iterator[Path]:
    if os.environ.get("XDG_CACHE_HOME"):
        yield Path(os.environ["XDG_CACHE_HOME"]) / "gangline"
    with contextlib.suppress(RuntimeError):  # an account without a home folder
        yield Path.home() / ".cache" / "gangline"
    yield Path(tempfile.gettempdir()) / f"gangline-{os.geteuid()}"
