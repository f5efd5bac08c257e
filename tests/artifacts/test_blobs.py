"""Both stores behave alike."""

import io
from pathlib import Path
from typing import Any

import pytest

from artifacts.blobs import Blobs, blobs, store_at
from refusals import NotFound


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest) -> Blobs:
    """A local folder, or a bucket of a real S3 server."""
    if request.param == "bucket":
        request.getfixturevalue("bucket")
    return blobs()


def test_what_is_put_can_be_read_from_any_place_on(store: Blobs) -> None:
    """Whole, and from the middle."""
    store.put("a/b", io.BytesIO(b"0123456789"))
    assert store.exists("a/b")
    assert store.open("a/b").read(100) == b"0123456789"
    assert store.open("a/b", offset=7).read(100) == b"789"


def test_a_put_replaces(store: Blobs) -> None:
    """And leaves the caller's file open."""
    source = io.BytesIO(b"new")
    store.put("a/b", io.BytesIO(b"old"))
    store.put("a/b", source)
    assert store.open("a/b").read(100) == b"new"
    assert not source.closed


def test_what_is_not_there_is_not_found(store: Blobs) -> None:
    """Reading, asking and deleting."""
    assert not store.exists("nothing")
    store.delete("nothing")
    with pytest.raises(NotFound):
        store.open("nothing")


def test_deleted_is_gone(store: Blobs) -> None:
    """From both."""
    store.put("a/b", io.BytesIO(b"x"))
    store.delete("a/b")
    assert not store.exists("a/b")


def test_a_large_file_goes_in_parts_and_comes_back_whole(store: Blobs) -> None:
    """Beyond the size from which S3 uploads are split."""
    body = bytes(range(256)) * (20 * 2**20 // 256)
    store.put("large", io.BytesIO(body))
    reader = store.open("large")
    parts = []
    while part := reader.read(2**20):
        parts.append(part)
    reader.close()
    assert b"".join(parts) == body


class Breaking:
    """A source that fails half way."""

    def __init__(self) -> None:
        self._parts = [b"x" * 1000]

    def read(self, _size: int = -1) -> bytes:
        """Some bytes, then the failure."""
        if self._parts:
            return self._parts.pop()
        raise OSError("the source is gone")


def test_half_a_file_is_no_file(store: Blobs, data_dir: Path) -> None:
    """And leaves nothing behind."""
    source: Any = Breaking()
    with pytest.raises(OSError, match="gone"):
        store.put("half", source)
    assert not store.exists("half")
    assert not [path for path in data_dir.rglob("*") if path.is_file()]


def test_a_folders_url_may_hold_any_name(tmp_path: Path) -> None:
    """Blanks and other scripts."""
    folder = tmp_path / "a b" / "仓库"
    store = store_at(folder.as_uri())
    store.put("k", io.BytesIO(b"x"))
    assert (folder / "k").read_bytes() == b"x"
