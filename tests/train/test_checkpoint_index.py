"""Whole, damaged, unfinished, kept and removed checkpoints, on plain files."""

import json
import os
from pathlib import Path

import pytest

from ray_runtime import checkpoint_index
from ray_runtime.checkpoint_index import Manifest, committed, folder_of, newest_whole


def make(directory: Path, step: int, body: bytes = b"weights") -> Path:
    """A whole checkpoint with one shard."""
    folder = folder_of(directory, step)
    folder.mkdir(parents=True)
    (folder / "shard").write_bytes(body)
    files = tuple(checkpoint_index.describe(folder, ["shard"]))
    checkpoint_index.write_manifest(folder, Manifest(step=step, world_size=1, files=files))
    return folder


def steps_in(directory: Path) -> list[int]:
    """The steps of all folders, newest first."""
    return sorted((checkpoint_index.step_of(path) or 0 for path in directory.iterdir()), reverse=True)


def test_the_newest_is_the_one_with_the_highest_step_not_the_latest_file(tmp_path: Path) -> None:
    """A copied or restored folder has any time."""
    newest, older = make(tmp_path, 120), make(tmp_path, 90)
    os.utime(older / "manifest.json", (4e9, 4e9))
    assert newest_whole(tmp_path) == newest
    assert newest_whole(tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda f: (f / "shard").unlink(), "shard: No such file or directory"),
        (lambda f: (f / "shard").write_bytes(b"weight"), "shard: 6 bytes, not 7"),
        (lambda f: (f / "shard").write_bytes(b"Weights"), "shard: the checksum differs"),
        (lambda f: (f / "manifest.json").write_text("{"), "manifest.json: "),
        (lambda f: (f / "manifest.json").write_text("[]"), "not a manifest"),
        (lambda f: f.rename(f.with_name("step-00000007")), "manifest.json: "),
        (lambda f: checkpoint_index.mark_damaged(f, "for a test"), "marked as damaged"),
    ],
)
def test_damage_is_found_and_passed_over(tmp_path: Path, spoil: object, why: str) -> None:
    """With a line that says what is wrong."""
    assert callable(spoil)
    older, newest = make(tmp_path, 5), make(tmp_path, 6)
    spoil(newest)
    found = checkpoint_index.verify(newest if newest.exists() else newest.with_name("step-00000007"))
    assert len(found) == 1
    assert why in found[0]
    assert newest_whole(tmp_path, checksums=True) == older


def test_a_folder_without_a_manifest_is_no_checkpoint(tmp_path: Path) -> None:
    """Nor is a file, nor a folder of another name."""
    make(tmp_path, 1)
    folder_of(tmp_path, 2).mkdir()
    folder_of(tmp_path, 3).touch()
    (tmp_path / "step-4").mkdir()
    assert committed(tmp_path) == [folder_of(tmp_path, 1)]


def test_a_manifest_that_points_outside_its_folder_is_refused(tmp_path: Path) -> None:
    """A job wrote it; the platform reads it."""
    for path in ("../secret", "/etc/passwd", "", "a\0b"):
        folder = folder_of(tmp_path, 1)
        folder.mkdir(exist_ok=True)
        entry = {"path": path, "size": 1, "sha256": ""}
        (folder / "manifest.json").write_text(
            json.dumps({"version": 1, "step": 1, "world_size": 1, "files": [entry]})
        )
        assert "leads outside" in checkpoint_index.verify(folder)[0]


def test_retention_keeps_the_newest_and_never_counts_damaged_ones(tmp_path: Path) -> None:
    """Two of 1..6, where 6 is marked and 5 was cut short: 4 and 3 stay, and what is newer."""
    for step in range(1, 7):
        make(tmp_path, step)
    checkpoint_index.mark_damaged(folder_of(tmp_path, 6), "for a test")
    (folder_of(tmp_path, 5) / "shard").write_bytes(b"")
    removed = checkpoint_index.apply_retention(tmp_path, 2)
    assert sorted(path.name for path in removed) == ["step-00000001", "step-00000002"]
    assert steps_in(tmp_path) == [6, 5, 4, 3]


def test_retention_never_removes_the_last_whole_one(tmp_path: Path) -> None:
    """Not even when told to keep none, nor anything when none is whole."""
    make(tmp_path, 1)
    make(tmp_path, 2)
    checkpoint_index.apply_retention(tmp_path, 0)
    assert steps_in(tmp_path) == [2]
    checkpoint_index.mark_damaged(folder_of(tmp_path, 2), "for a test")
    assert checkpoint_index.apply_retention(tmp_path, 1) == []


def test_retention_removes_what_unfinished_saves_left_but_not_the_one_under_way(tmp_path: Path) -> None:
    """Older than the oldest kept one: left over. Newer: perhaps being written now."""
    folder_of(tmp_path, 1).mkdir(parents=True)
    make(tmp_path, 2)
    folder_of(tmp_path, 3).mkdir()
    checkpoint_index.apply_retention(tmp_path, 1)
    assert steps_in(tmp_path) == [3, 2]


def test_a_checkpoint_that_is_being_read_stays(tmp_path: Path) -> None:
    """Another job may be starting from it; a reader that died is forgotten after an hour."""
    make(tmp_path, 1)
    make(tmp_path, 2)
    with checkpoint_index.reading(folder_of(tmp_path, 1)):
        assert checkpoint_index.apply_retention(tmp_path, 1) == []
        lease = next(folder_of(tmp_path, 1).glob(".reading-*"))
        os.utime(lease, (1, 1))
        assert checkpoint_index.apply_retention(tmp_path, 1) == [folder_of(tmp_path, 1)]


def test_a_mark_says_why_and_when(tmp_path: Path) -> None:
    """For the people who look into the folder."""
    folder = make(tmp_path, 1)
    checkpoint_index.mark_damaged(folder, "shard: the checksum differs")
    mark = json.loads((folder / "damaged.json").read_text())
    assert mark["why"] == "shard: the checksum differs"
    assert mark["at_ms"] > 0
