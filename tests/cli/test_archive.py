"""Packing a code folder: what goes along, what does not, and the same bytes each time."""

import os
import tarfile
from pathlib import Path

import pytest

from gangline.archive import pack
from gangline.errors import BadUsage


def write(folder: Path, **files: str) -> None:
    """Make files; `__` in a name is a folder."""
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def packed(folder: Path, target: Path) -> list[str]:
    """The names in the archive of a folder."""
    pack(folder, target)
    with tarfile.open(target) as tar:
        return sorted(tar.getnames())


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    """Whenever and as whomever they were written: a repeated submission is recognised by its content."""
    for name in ("one", "two"):
        write(tmp_path / name, a="1", b__c="2")
    os.utime(tmp_path / "two" / "a", (1, 1))
    for name in ("one", "two"):
        pack(tmp_path / name, tmp_path / f"{name}.tar.gz")
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()


@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        ("*.log", ["a", "d/e"]),
        ("/x.log\n", ["a", "d/e", "d/y.log"]),
        ("d/", ["a", "x.log"]),
        ("d/*.log", ["a", "d/e", "x.log"]),
        ("**/y.log", ["a", "d/e", "x.log"]),
        ("*.log\n!y.log", ["a", "d/e", "d/y.log"]),
        ("# *.log\n\n", ["a", "d/e", "d/y.log", "x.log"]),
        ("d", ["a", "x.log"]),
        ("[ax]*", ["d/e", "d/y.log"]),
    ],
)
def test_ignore_patterns_mean_what_git_means_by_them(tmp_path: Path, patterns: str, kept: list[str]) -> None:
    """Anchored, folders only, any depth, taken back in, comments."""
    folder = tmp_path / "code"
    write(folder, a="1", d__e="2")
    write(folder, **{"x.log": "3", "d__y.log": "4"})
    (folder / ".ganglineignore").write_text(patterns)
    assert [name for name in packed(folder, tmp_path / "t.gz") if name != ".ganglineignore"] == kept


def test_gitignore_counts_only_without_an_ignore_file_of_ours(tmp_path: Path) -> None:
    """What git leaves out may be just what a job needs."""
    folder = tmp_path / "code"
    write(folder, a="1", b="2")
    (folder / ".gitignore").write_text("b\n")
    assert packed(folder, tmp_path / "t.gz") == [".gitignore", "a"]
    (folder / ".ganglineignore").write_text("a\n")
    assert packed(folder, tmp_path / "t.gz") == [".ganglineignore", ".gitignore", "b"]


def test_version_control_caches_and_environments_never_go_along(tmp_path: Path) -> None:
    """Nobody means them."""
    folder = tmp_path / "code"
    write(folder, a="1", __git__x="")
    write(folder, **{".git__HEAD": "x", "p__ __pycache__": "x", ".venv__bin": "x"})
    write(folder, **{"m.pyc": "x"})
    names = packed(folder, tmp_path / "t.gz")
    assert ".git/HEAD" not in names
    assert not [name for name in names if "__pycache__" in name or ".venv" in name or name.endswith(".pyc")]


def test_links_go_along_as_links_and_are_not_followed(tmp_path: Path) -> None:
    """What they point to outside is not ours to read; the portal refuses such links."""
    secret = tmp_path / "secret"
    secret.write_text("s")
    folder = tmp_path / "code"
    write(folder, a="1")
    (folder / "link").symlink_to(secret)
    pack(folder, tmp_path / "t.gz")
    with tarfile.open(tmp_path / "t.gz") as tar:
        assert tar.getmember("link").issym()


def test_a_folder_that_is_too_large_names_its_largest_files(tmp_path: Path) -> None:
    """So that one knows what to list in .ganglineignore."""
    folder = tmp_path / "code"
    write(folder, a="1" * 600, b="2" * 500)
    with pytest.raises(BadUsage) as refused:
        pack(folder, tmp_path / "t.gz", limit_bytes=1000)
    assert [detail.path for detail in refused.value.details] == ["a", "b"]
    assert ".ganglineignore" in refused.value.todo


def test_a_folder_without_a_file_is_refused(tmp_path: Path) -> None:
    """Most likely it is the wrong one."""
    (tmp_path / "code").mkdir()
    with pytest.raises(BadUsage, match="no file"):
        pack(tmp_path / "code", tmp_path / "t.gz")


def test_pipes_are_left_out(tmp_path: Path) -> None:
    """Reading one would wait for ever."""
    write(tmp_path / "code", a="1")
    os.mkfifo(tmp_path / "code" / "pipe")
    assert packed(tmp_path / "code", tmp_path / "t.gz") == ["a"]
