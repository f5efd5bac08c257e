"""Hostile archives are refused as a whole: nothing is kept, nothing lies outside, the disk does not fill."""

import gzip
import io
import os
import struct
import tarfile
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from artifacts.archives import Limits, canonicalise
from artifacts.errors import ArchiveRefused, TooLarge
from artifacts.models import CodeArchive
from artifacts.services import code, store_code
from artifacts.services.code import EXPANSION
from refusals import Refusal
from tests.accounts.builders import NOW, Cast, make_cast
from tests.artifacts.archives import (
    a_tar,
    a_tar_gz,
    a_zip,
    a_zip_of_raw_name,
    a_zip_with,
    file_header,
    tar_file,
    tar_link,
    tar_special,
    zip_link,
)
from tests.artifacts.conftest import LIMIT

OUTSIDE = "it is a link that leads outside of the archive"
SPECIAL = "devices, pipes and sockets are not allowed, only files, folders and links"
DOTS = "a path must not have “..”, “.” or empty parts"
RELATIVE = "a path must be relative, not begin with “/”"
BACKSLASH = "a path must not have a backslash; folders are separated by “/”"
PRINTABLE = "a path must have printable characters only (no NUL, no control characters)"
TWICE = "there are two members of this name"
METHOD = "it is encrypted, or not stored as plain or deflated data"
BELOW = "it lies below something that is not a folder"


@pytest.fixture
def cast(db: None) -> Cast:
    """Two teams and their people."""
    return make_cast()


def refuse(cast: Cast, data: bytes) -> Refusal:
    """The refusal; and nothing is kept."""
    with pytest.raises(Refusal) as refused:
        store_code(team=cast.team_a, user=cast.owner, stream=io.BytesIO(data), now=NOW)
    assert not CodeArchive.objects.exists()
    return refused.value


def tar_and_zip(name: str) -> list[bytes]:
    """A file of this name in each form, behind a good one."""
    return [
        a_tar_gz(tar_file("good"), tar_file(name)),
        a_tar(tar_file(name)),
        a_zip({"good": b"", name: b"x"}),
    ]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../../evil1", DOTS),
        ("a/../../evil1", DOTS),
        ("..", DOTS),
        ("/tmp/evil2", RELATIVE),
        ("//tmp/evil2", RELATIVE),
        ("..\\evil4", BACKSLASH),
        ("a\\b", BACKSLASH),
        ("a\nb", PRINTABLE),
        ("a\u202eb", PRINTABLE),
        ("x" * 501, "a path must have 1 to 500 characters"),
        ("名" * 90, "each part of a path must have at most 255 bytes"),
    ],
)
def test_names_that_lead_elsewhere(cast: Cast, data_dir: Path, name: str, why: str) -> None:
    """In every form, with the member and the rule; no file appears anywhere."""
    for data in tar_and_zip(name):
        refusal = refuse(cast, data)
        assert isinstance(refusal, ArchiveRefused)
        assert refusal.params["why"] == why
        assert refusal.status == 422
    assert not (data_dir / "blobs").exists()
    assert sorted(path.name for path in data_dir.rglob("*")) == ["uploads"]


def test_a_name_with_a_nul(cast: Cast) -> None:
    """Which the standard library would cut off, to look like a good one."""
    assert refuse(cast, a_zip_of_raw_name(b"good.py\0/../evil")).params["why"] == PRINTABLE
    header, content = tar_file("good")
    header.pax_headers = {"path": "good\0evil"}
    assert refuse(cast, a_tar((header, content))).params["why"] == PRINTABLE


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ([tar_link("d", "/etc"), tar_file("d/evil3")], OUTSIDE),
        ([tar_link("d", "sub"), tar_file("d/evil3")], BELOW),
        ([tar_link("d", "..")], OUTSIDE),
        ([tar_link("a/d", "../..")], OUTSIDE),
        ([tar_link("x/up", "../y"), tar_link("l", "x/up/../../z")], OUTSIDE),
        ([tar_link("d", "")], "it is a link to nothing"),
        ([tar_link("d", "a\\b")], BACKSLASH),
        ([tar_link("h", "/etc/passwd", hard=True)], OUTSIDE),
        ([tar_link("h", "../canary", hard=True)], OUTSIDE),
        ([tar_link("h", "missing", hard=True)], OUTSIDE),
        ([tar_link("l", "a"), tar_link("h", "l", hard=True)], OUTSIDE),
        ([tar_special("dev", tarfile.CHRTYPE)], SPECIAL),
        ([tar_special("dev", tarfile.BLKTYPE)], SPECIAL),
        ([tar_special("pipe", tarfile.FIFOTYPE)], SPECIAL),
        ([tar_file("a"), tar_file("a")], TWICE),
        ([tar_file("a"), tar_file("./a")], TWICE),
        ([tar_file("a"), tar_file("a/b")], BELOW),
        ([tar_file("a/b"), tar_file("a")], TWICE),
    ],
)
def test_links_devices_and_doubles(
    cast: Cast, members: list[tarfile.TarInfo | tuple[tarfile.TarInfo, bytes]], why: str
) -> None:
    """Each with its rule."""
    assert refuse(cast, a_tar_gz(*members)).params["why"] == why


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (zip_link("d", "/etc"), OUTSIDE),
        (zip_link("d", "../x"), OUTSIDE),
        (a_zip_with("dev", b"", mode=0o020666), SPECIAL),
        (a_zip_with("pipe", b"", mode=0o010666), SPECIAL),
        (a_zip_with("socket", b"", mode=0o140666), SPECIAL),
        (
            a_zip({"a": b"x"}, method=zipfile.ZIP_BZIP2),
            "it is encrypted, or not stored as plain or deflated data",
        ),
        (
            a_zip({"a": b"x"}, method=zipfile.ZIP_LZMA),
            "it is encrypted, or not stored as plain or deflated data",
        ),
    ],
)
def test_the_same_in_a_zip(cast: Cast, data: bytes, why: str) -> None:
    """By Unix modes, and methods whose blocks unpack to anything."""
    assert refuse(cast, data).params["why"] == why


@pytest.mark.parametrize(
    "data",
    [b"", b"not an archive", b"\x7fELF" + bytes(600), b"BZh9" + bytes(600), b"\xfd7zXZ\0" + bytes(600)],
)
def test_what_is_no_archive(cast: Cast, data: bytes) -> None:
    """Told what would be one."""
    assert refuse(cast, data).params["why"] == "this is not a zip, tar or tar.gz archive"


def cut(data: bytes) -> bytes:
    """The first half."""
    return data[: len(data) // 2]


@pytest.mark.parametrize(
    "data",
    [
        cut(a_tar_gz(tar_file("a", os.urandom(5000)))),
        cut(a_tar(tar_file("a", bytes(5000)))),
        cut(a_zip({"a": os.urandom(5000)})),
        a_zip({"a": b"x" * 5000}, method=zipfile.ZIP_STORED).replace(b"xxx", b"xyx", 1),
        a_tar_gz(tar_file("a", os.urandom(5000)))[:-8] + bytes(8),
        gzip.compress(b"no tar inside" * 100),
        b"\x1f\x8b" + bytes(100),
        b"PK\x03\x04" + bytes(100),
    ],
)
def test_what_is_cut_off_or_damaged(cast: Cast, data: bytes) -> None:
    """Refused, never a 500."""
    assert isinstance(refuse(cast, data), ArchiveRefused)


def zeros_tar_gz(size: int) -> bytes:
    """A small archive of one file of `size` zeros."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as packed:
        header = file_header("zeros", size)
        packed.write(header.tobuf())
        for _block in range(size // 2**20):
            packed.write(bytes(2**20))
    return buffer.getvalue()


def lying_tar_gz(size: int) -> bytes:
    """The same, but in many files, none of them suspicious."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as packed:
        for number in range(size // 2**19):
            packed.write(file_header(f"zeros-{number}", 2**19).tobuf() + bytes(2**19))
    return buffer.getvalue()


def zeros_zip(size: int, *, claim: int) -> bytes:
    """A zip of zeros whose directory claims another size."""
    data = a_zip({"zeros": bytes(size)})
    return data.replace(struct.pack("<I", size), struct.pack("<I", claim))


class DiskWatch(threading.Thread):
    """The most bytes that this process had on disk in nameless files of the folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self._folder = folder
        self._over = threading.Event()
        self.most_bytes = 0

    def run(self) -> None:
        """Look again and again."""
        while not self._over.wait(0.002):
            descriptors = Path("/proc/self/fd").iterdir()
            self.most_bytes = max(self.most_bytes, sum(map(self._size, descriptors)))

    def _size(self, descriptor: Path) -> int:
        try:
            is_ours = descriptor.readlink().is_relative_to(self._folder)
            return descriptor.stat().st_blocks * 512 if is_ours else 0
        except OSError:
            return 0  # closed meanwhile

    def stop(self) -> int:
        """The result."""
        self._over.set()
        self.join()
        return self.most_bytes


@pytest.mark.parametrize(
    "make",
    [
        lambda: zeros_tar_gz(256 * 2**20),
        lambda: lying_tar_gz(256 * 2**20),
        lambda: zeros_zip(64 * 2**20, claim=64 * 2**20),
        lambda: zeros_zip(64 * 2**20, claim=100),
    ],
    ids=["one file", "many files", "zip", "zip that lies about its size"],
)
def test_an_archive_that_expands_is_stopped_at_the_limit(
    cast: Cast, data_dir: Path, make: Callable[[], bytes]
) -> None:
    """With a disk use that is far below limit + 64 MiB."""
    data = make()
    assert len(data) < 2 * LIMIT
    (data_dir / "uploads").mkdir(parents=True)
    watch = DiskWatch(data_dir / "uploads")
    watch.start()
    refusal = refuse(cast, data[: 2 * LIMIT])
    assert watch.stop() <= EXPANSION * LIMIT
    assert isinstance(refusal, TooLarge | ArchiveRefused)
    assert not (data_dir / "blobs").exists()


def test_the_limit_of_an_expanding_archive_is_told(cast: Cast) -> None:
    """In words."""
    refusal = refuse(cast, zeros_tar_gz(16 * 2**20))
    assert refusal.status == 413
    assert refusal.message == (
        "The unpacked archive is larger than the 4.0\xa0MB that this portal accepts. Send less."
    )


def test_hard_links_multiply_and_are_counted(cast: Cast) -> None:
    """A thousand names for a megabyte are a gigabyte."""
    links = [tar_link(f"l{number}", "a", hard=True) for number in range(10)]
    assert isinstance(refuse(cast, a_tar_gz(tar_file("a", bytes(LIMIT)), *links)), TooLarge)


class Endless:
    """An upload that never ends, and counts what was taken of it."""

    def __init__(self) -> None:
        self.taken = 0

    def read(self, size: int, /) -> bytes:
        """As much as is asked for."""
        self.taken += size
        return bytes(size)


def test_an_upload_without_end_is_cut_off_at_the_limit(cast: Cast) -> None:
    """Its length was never told."""
    stream = Endless()
    with pytest.raises(TooLarge) as refused:
        store_code(team=cast.team_a, user=cast.owner, stream=stream, now=NOW)
    assert stream.taken <= LIMIT + 2**20
    assert (
        refused.value.message
        == "The archive is larger than the 1.0\xa0MB that this portal accepts. Send less."
    )


def test_too_many_members_are_refused(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a zip before an object is made of each."""
    monkeypatch.setattr(code, "MOST_MEMBERS", 50)
    names = [f"f{number}" for number in range(51)]
    for data in (a_zip(dict.fromkeys(names, b"")), a_tar_gz(*map(tar_file, names))):
        assert refuse(cast, data).params["why"] == "it has more than 50 members"


def test_a_giant_header_is_refused_before_it_is_read(cast: Cast) -> None:
    """A long name's payload would be taken into memory at once."""
    header = tar_special("././@LongLink", tarfile.GNUTYPE_LONGNAME)
    header.size = 2**40
    refusal = refuse(cast, gzip.compress(header.tobuf(format=tarfile.GNU_FORMAT) + bytes(2**20)))
    assert refusal.params["why"] == "its header is too large"


SMALL = Limits(sent_bytes=2**16, unpacked_bytes=2**18, kept_bytes=2**17, num_members=100)
SEEDS = [
    a_zip({"a/b": b"hello" * 20, "代码.py": b"x"}),
    a_tar(tar_file("a/b", b"hello" * 20), tar_link("l", "a"), tar_file("名" * 60)),
    a_tar_gz(tar_file("a/b", b"hello" * 20)),
]


@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=12))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_is_a_refusal_or_a_sound_archive(seed: bytes, changes: list[tuple[int, int]]) -> None:
    """Never another exception; what is accepted can be read and has only sound names."""
    data = bytearray(seed)
    for position, value in changes:
        data[position % len(data)] = value
    target = io.BytesIO()
    try:
        canonicalise(io.BytesIO(bytes(data)), target, limits=SMALL)
    except Refusal:
        return
    with tarfile.open(fileobj=io.BytesIO(target.getvalue()), mode="r:gz") as tar:
        assert not [name for name in tar.getnames() if name.startswith("/") or ".." in name.split("/")]
