"""Archives, good and hostile, as bytes."""

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Mapping


def a_tar(*members: tarfile.TarInfo | tuple[tarfile.TarInfo, bytes]) -> bytes:
    """A plain tar of exactly these members."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member in members:
            header, content = member if isinstance(member, tuple) else (member, b"")
            archive.addfile(header, io.BytesIO(content))
    return buffer.getvalue()


def a_tar_gz(*members: tarfile.TarInfo | tuple[tarfile.TarInfo, bytes]) -> bytes:
    """The same, compressed."""
    return gzip.compress(a_tar(*members))


def file_header(name: str, size: int, *, mode: int = 0o644) -> tarfile.TarInfo:
    """A regular file's header."""
    header = tarfile.TarInfo(name)
    header.size, header.mode = size, mode
    return header


def tar_file(name: str, content: bytes = b"x", *, mode: int = 0o644) -> tuple[tarfile.TarInfo, bytes]:
    """A regular file."""
    return file_header(name, len(content), mode=mode), content


def tar_link(name: str, target: str, *, hard: bool = False) -> tarfile.TarInfo:
    """A symbolic or a hard link."""
    header = tarfile.TarInfo(name)
    header.type = tarfile.LNKTYPE if hard else tarfile.SYMTYPE
    header.linkname = target
    return header


def tar_special(name: str, kind: bytes) -> tarfile.TarInfo:
    """A device, a pipe."""
    header = tarfile.TarInfo(name)
    header.type = kind
    return header


def a_zip(files: Mapping[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def a_zip_with(name: str, content: bytes, *, mode: int) -> bytes:
    """A zip of one member with this Unix mode: a link, a device, an executable."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.create_system, info.external_attr = 3, mode << 16
        archive.writestr(info, content)
    return buffer.getvalue()


def zip_link(name: str, target: str) -> bytes:
    """A zip of one symbolic link."""
    return a_zip_with(name, target.encode(), mode=stat.S_IFLNK | 0o777)


def a_zip_of_raw_name(raw: bytes, content: bytes = b"x") -> bytes:
    """A zip whose one name has exactly these bytes and no declared encoding."""
    placeholder = "p" * len(raw)
    return a_zip({placeholder: content}).replace(placeholder.encode(), raw)
