"""Code archives: taken in whole, in one canonical form, once per content."""

import io
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from artifacts.blobs import blobs
from artifacts.models import CodeArchive
from artifacts.services import open_code, store_code
from tests.accounts.builders import NOW, Cast, make_cast
from tests.artifacts.archives import (
    a_tar,
    a_tar_gz,
    a_zip,
    a_zip_of_raw_name,
    a_zip_with,
    tar_file,
    tar_link,
    tar_special,
    zip_link,
)

Form = Callable[[dict[str, bytes]], bytes]
FORMATS: dict[str, Form] = {
    "zip": a_zip,
    "tar": lambda files: a_tar(*(tar_file(name, content) for name, content in files.items())),
    "tar.gz": lambda files: a_tar_gz(*(tar_file(name, content) for name, content in files.items())),
}


@pytest.fixture
def cast(db: None) -> Cast:
    """Two teams and their people."""
    return make_cast()


def store(cast: Cast, data: bytes) -> CodeArchive:
    """For team A, by its owner."""
    return store_code(team=cast.team_a, user=cast.owner, stream=io.BytesIO(data), now=NOW)


def stored(archive: CodeArchive) -> tarfile.TarFile:
    """The kept archive, opened as any tool would."""
    return tarfile.open(fileobj=io.BytesIO(open_code(archive).read(10**9)), mode="r:gz")


@pytest.mark.parametrize("form", FORMATS)
def test_a_good_archive_keeps_its_names_and_bytes(cast: Cast, form: str) -> None:
    """代码/训练.py is 代码/训练.py."""
    files = {"代码/训练.py": b"print('hi')\n", "README": b"", "data.bin": bytes(range(256)) * 1000}
    archive = store(cast, FORMATS[form](files))
    with stored(archive) as tar:
        kept = {m.name: tar.extractfile(m).read() for m in tar if m.isfile()}  # type: ignore[union-attr]  # files have content
    assert kept == files
    assert (archive.num_files, archive.created_by, archive.team) == (3, cast.owner, cast.team_a)


def test_the_kept_archive_can_be_read_as_a_stream(cast: Cast) -> None:
    """As a node reads it, without seeking."""
    archive = store(cast, a_zip({"b": b"2", "a": b"1"}))
    with tarfile.open(fileobj=open_code(archive), mode="r|gz") as tar:  # type: ignore[call-overload]  # `read` is enough
        assert [member.name for member in tar] == ["a", "b"]


def test_equal_trees_are_one_archive_whatever_brought_them(cast: Cast) -> None:
    """Form, order, times, owners and odd modes do not count."""
    first = store(cast, a_zip({"a/b": b"1", "c": b"2"}))
    header, content = tar_file("./c", b"2", mode=0o600)
    header.mtime, header.uid, header.uname = 12345, 1000, "somebody"
    second = store(cast, a_tar_gz((header, content), tar_file("a//b", b"1")))
    assert second == first
    assert CodeArchive.objects.count() == 1


def test_other_bytes_are_another_archive(cast: Cast) -> None:
    """Or another name, or another right to be run."""
    archives = {
        store(cast, data).sha256
        for data in (
            a_tar(tar_file("a", b"1")),
            a_tar(tar_file("a", b"2")),
            a_tar(tar_file("b", b"1")),
            a_tar(tar_file("a", b"1", mode=0o755)),
        )
    }
    assert len(archives) == 4


def test_two_teams_have_a_row_each_and_share_the_bytes(cast: Cast) -> None:
    """One team's row says nothing of the other's."""
    data = a_zip({"a": b"1"})
    mine = store(cast, data)
    theirs = store_code(team=cast.team_b, user=cast.outsider, stream=io.BytesIO(data), now=NOW)
    assert (mine.sha256, mine.id != theirs.id) == (theirs.sha256, True)
    assert open_code(mine.sha256).read(10**9) == open_code(theirs).read(10**9)


def test_the_right_to_be_run_is_all_that_is_kept_of_a_mode(cast: Cast) -> None:
    """No set-user-id reaches a node."""
    archive = store(cast, a_tar(tar_file("run.sh", mode=0o4755), tar_file("x", mode=0o666)))
    with stored(archive) as tar:
        assert {m.name: m.mode for m in tar} == {"run.sh": 0o755, "x": 0o644}
        assert all((m.uid, m.gid, m.mtime, m.uname) == (0, 0, 0, "") for m in tar.getmembers())
    executable = store(cast, a_zip_with("run.sh", b"x", mode=stat.S_IFREG | 0o755))
    with stored(executable) as tar:
        assert tar.getmember("run.sh").mode == 0o755


def test_folders_are_there_before_what_is_in_them(cast: Cast) -> None:
    """Also those that the archive only implies, and empty ones."""
    folder = tar_special("empty/", tarfile.DIRTYPE)
    archive = store(cast, a_tar(tar_file("a/b/c"), folder, tar_special("./", tarfile.DIRTYPE)))
    with stored(archive) as tar:
        assert [(m.name, m.isdir()) for m in tar] == [
            ("a", True),
            ("a/b", True),
            ("a/b/c", False),
            ("empty", True),
        ]


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("link", "dir/file"),
        ("dir/link", "file"),
        ("dir/link", "../other"),
        ("a/b/link", "../../dir"),
        ("l", "later"),
    ],
)
def test_a_link_inside_stays_a_link(cast: Cast, name: str, target: str) -> None:
    """In tar and in zip; what it names may be missing."""
    for data in (a_tar(tar_file("dir/file"), tar_link(name, target)), zip_link(name, target)):
        with stored(store(cast, data)) as tar:
            assert (tar.getmember(name).issym(), tar.getmember(name).linkname) == (True, target)


def test_a_hard_link_inside_becomes_a_file(cast: Cast) -> None:
    """With the same bytes and the same right to be run."""
    archive = store(cast, a_tar(tar_file("a", b"bytes", mode=0o755), tar_link("b/c", "./a", hard=True)))
    with stored(archive) as tar:
        member = tar.getmember("b/c")
        assert (member.isfile(), member.mode, tar.extractfile("b/c").read()) == (True, 0o755, b"bytes")  # type: ignore[union-attr]  # a file has content
    assert archive.num_files == 2


def test_an_archive_without_files_is_kept(cast: Cast) -> None:
    """A command may need no code."""
    assert store(cast, a_zip({})).num_files == 0


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("代码/训练.py".encode(), "代码/训练.py"),
        ("代码/训练.py".encode("gbk"), "代码/训练.py"),
        ("é.py".encode("cp437"), "é.py"),
    ],
)
def test_undeclared_names_are_read_as_their_writers_meant_them(cast: Cast, raw: bytes, name: str) -> None:
    """UTF-8, then Chinese Windows, then DOS."""
    with stored(store(cast, a_zip_of_raw_name(raw))) as tar:
        assert name in tar.getnames()


def test_nothing_is_left_in_the_uploads_folder(cast: Cast, data_dir: Path) -> None:
    """Scratch files have no name."""
    store(cast, a_zip({"a": b"1"}))
    assert list((data_dir / "uploads").iterdir()) == []


def test_in_a_bucket(cast: Cast, bucket: str) -> None:
    """The same, over S3."""
    archive = store(cast, a_zip({"代码/训练.py": b"x" * 100_000}))
    assert blobs().is_remote
    with stored(archive) as tar:
        assert "代码/训练.py" in tar.getnames()
    with tarfile.open(fileobj=open_code(archive), mode="r|gz") as stream:  # type: ignore[call-overload]  # `read` is enough
        assert len(list(stream)) == 2
