"""The folder that one local platform lives in: its lock, its secrets, and how files are written into it."""

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any


class DataFolderError(Exception):
    """The folder cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """Made once and kept in `secrets.json` (mode 0600)."""

    secret_key: str
    conductor_token: str
    postgres_password: str
    redis_password: str
    ray_token: str


@contextmanager
def locked(data_dir: Path) -> Iterator[None]:
    """Make the folder if need be, and hold it while the block runs: one platform per folder."""
    data_dir.mkdir(parents=True, exist_ok=True)
    if data_dir.stat().st_uid != os.geteuid():
        raise DataFolderError(f"{data_dir} belongs to another user: choose another folder with --data-dir.")
    # As root, the database's unprivileged account must be able to pass through; what is inside is closed.
    data_dir.chmod(0o711 if os.geteuid() == 0 else 0o700)
    with (data_dir / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise DataFolderError(
                f"{data_dir} is in use by process {file.read().strip() or '?'}: stop it first,"
                " or choose another folder with --data-dir."
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def load_secrets(data_dir: Path) -> Secrets:
    """The folder's secrets, made when there are none."""
    path = data_dir / "secrets.json"
    known: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    values = {field.name: known.get(field.name) or secrets.token_urlsafe(32) for field in fields(Secrets)}
    if values != known:
        write_private_json(path, values)
    return Secrets(**values)


def write_private(path: Path, text: str) -> None:
    """Write the whole file or nothing, readable by its owner alone."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_name(f".{path.name}.new")
    with contextlib.suppress(FileNotFoundError):
        new.unlink()
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    new.replace(path)


def write_private_json(path: Path, value: Mapping[str, Any]) -> None:
    """`write_private` for JSON."""
    write_private(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def folder(data_dir: Path, name: str) -> Path:
    """A closed folder inside."""
    path = data_dir / name
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.chmod(0o700)
    return path
