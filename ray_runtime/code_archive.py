"""A job's code on a node: fetched once per content hash, checked, unpacked without leaving its folder."""

import hashlib
import os
import tarfile
from pathlib import Path

MAX_FILES = 200_000
MAX_EXPANDED_BYTES = 16 << 30


class CodeUnusableError(Exception):
    """The archive is not what the portal said, or would write outside its folder. The message says why."""


def check_archive(archive: Path, *, sha256: str) -> None:
    """Refuse an archive with another content than the LaunchSpec names. Blocking: call in a thread."""
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sha256:
        raise CodeUnusableError(f"the code archive has hash {digest}, expected {sha256}")


def keep_recent(folder: Path, *, used: Path, keep: int = 32) -> None:
    """Note that `used` was used, and remove all but the most recent archives. Blocking: call in a thread.

    One that is just being unpacked by another attempt stays readable for it until it is closed.
    """
    used.touch()
    archives = sorted(folder.glob("*.tar.gz"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for archive in archives[keep:]:
        archive.unlink(missing_ok=True)


def unpack_archive(archive: Path, folder: Path) -> None:
    """Unpack a tar.gz into `folder`: no absolute or climbing names, no links outside, no devices, limited.

    Blocking: call in a thread.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with tarfile.open(archive, "r:gz") as tar:
            _unpack(tar, folder)
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        raise CodeUnusableError(f"the code archive could not be unpacked: {error}") from error


def _unpack(tar: tarfile.TarFile, folder: Path) -> None:
    num_bytes = 0
    for num_files, member in enumerate(tar, start=1):
        num_bytes += member.size
        if num_files > MAX_FILES or num_bytes > MAX_EXPANDED_BYTES:
            raise CodeUnusableError(
                f"the code archive is larger than {MAX_FILES} files or {MAX_EXPANDED_BYTES} bytes"
            )
        if os.path.isabs(member.name):  # noqa: PTH117  # a name in an archive, no path of ours
            raise CodeUnusableError(f"the code archive holds an absolute path: {member.name}")
        tar.extract(member, folder, filter="data")
