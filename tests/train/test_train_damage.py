"""A checkpoint exists or it does not: damaged ones are found, told of and passed over."""

from collections.abc import Callable
from pathlib import Path

from ray_runtime import checkpoint_index
from tests.train.gang import Gang

Launch = Callable[..., Gang]


def shard_of(folder: Path) -> Path:
    """One of the folder's shard files."""
    return next(folder.glob("__0_*.distcp"))


def test_damaged_checkpoints_are_marked_told_and_passed_over(launch: Launch, tmp_path: Path) -> None:
    """A flipped bit in the newest, a cut file in the next: the third is used, the losses are the same."""
    directory = tmp_path / "c"
    environ = {"GANGLINE_CHECKPOINT_DIR": str(directory), "GANGLINE_CHECKPOINT_EVERY": "4 steps"}
    whole = launch(2)
    first = launch(2, program="interrupted_recipe", environ={**environ, "INTERRUPT": "12:1:SIGTERM"})
    assert first.wait() == whole.wait() == [0, 0]
    flipped, cut = (checkpoint_index.folder_of(directory, step) for step in (12, 8))
    body = bytearray(shard_of(flipped).read_bytes())
    body[len(body) // 2] ^= 1
    shard_of(flipped).write_bytes(body)
    shard_of(cut).write_bytes(shard_of(cut).read_bytes()[:-1])
    assert checkpoint_index.newest_whole(directory) == flipped, "sizes alone cannot show a flipped bit"
    assert checkpoint_index.newest_whole(directory, checksums=True) == checkpoint_index.folder_of(
        directory, 4
    )

    again = launch(2, program="interrupted_recipe", environ={**environ, "INTERRUPT": "6:0:SIGTERM"})
    assert again.wait() == [0, 0], again.output(0)
    assert again.events("started")[0]["resumed_from"] == 4
    damaged = again.events("damaged")
    assert [event["path"] for event in damaged] == [str(flipped), str(cut)]
    assert "checksum differs" in damaged[0]["why"]
    assert "bytes, not" in damaged[1]["why"]
    assert checkpoint_index.verify(flipped) == ["it was marked as damaged"]

    last = launch(2, environ=environ)
    assert last.wait() == [0, 0]
    assert last.events("started")[0]["resumed_from"] == 6
    assert not last.events("damaged"), "it was told once"
    assert {**again.losses(), **last.losses()} == {s: x for s, x in whole.losses().items() if s > 4}
    steps = [checkpoint_index.step_of(folder) for folder in checkpoint_index.committed(directory)]
    assert steps[0] == 24
    assert len(steps) == 3


def test_a_run_starts_from_another_runs_checkpoint(launch: Launch, tmp_path: Path) -> None:
    """Its own checkpoints, once there are any, come first; the other's is only read."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    first = launch(1, params={"steps": 6}, environ={"GANGLINE_CHECKPOINT_DIR": str(theirs)})
    assert first.wait() == [0]
    start_from = checkpoint_index.folder_of(theirs, 6)
    environ = {"GANGLINE_CHECKPOINT_DIR": str(ours), "GANGLINE_RESUME_FROM": str(start_from)}
    forked = launch(
        2, program="interrupted_recipe", params={"steps": 12}, environ={**environ, "INTERRUPT": "9:0:SIGTERM"}
    )
    assert forked.wait() == [0, 0]
    assert forked.events("started")[0]["resumed_from"] == 6
    again = launch(2, params={"steps": 12}, environ=environ)
    assert again.wait() == [0, 0]
    assert again.events("started")[0]["resumed_from"] == 9
    assert sorted(path.name for path in theirs.iterdir()) == ["step-00000006"]
    assert not list(start_from.glob(".reading-*")), "the lease is given back"


def test_a_damaged_checkpoint_that_was_asked_for_is_an_error(launch: Launch, tmp_path: Path) -> None:
    """To begin from nothing instead would be the wrong thing, silently."""
    theirs = tmp_path / "theirs"
    first = launch(1, params={"steps": 2}, environ={"GANGLINE_CHECKPOINT_DIR": str(theirs)})
    assert first.wait() == [0]
    folder = checkpoint_index.folder_of(theirs, 2)
    shard_of(folder).unlink()
    second = launch(2, environ={"GANGLINE_RESUME_FROM": str(folder)})
    assert second.wait() == [1, 1]
    assert "is not whole" in second.output(0)


def test_a_checkpoint_of_another_model_or_other_data_is_refused(launch: Launch, tmp_path: Path) -> None:
    """With a sentence that says what differs."""
    environ = {"GANGLINE_CHECKPOINT_DIR": str(tmp_path / "c")}
    assert launch(1, params={"steps": 2}, environ=environ).wait() == [0]
    wider = launch(1, params={"hidden": 64}, environ=environ)
    assert wider.wait() == [1]
    assert "of another model" in wider.output(0)
    other_batch = launch(1, params={"global_batch": 8}, environ=environ)
    assert other_batch.wait() == [1]
    assert "was made over" in other_batch.output(0)


def test_an_unfinished_save_is_no_checkpoint(launch: Launch, tmp_path: Path) -> None:
    """A folder without a manifest, as a kill leaves it, is passed over in silence and later replaced."""
    left = checkpoint_index.folder_of(tmp_path / "c", 3)
    left.mkdir(parents=True)
    (left / "__7_0.distcp").write_bytes(b"half")
    environ = {"GANGLINE_CHECKPOINT_DIR": str(tmp_path / "c"), "GANGLINE_CHECKPOINT_EVERY": "3 steps"}
    run = launch(1, params={"steps": 3}, environ=environ)
    assert run.wait() == [0]
    assert run.events("started")[0]["resumed_from"] is None
    assert checkpoint_index.newest_whole(tmp_path / "c", checksums=True) == left
    assert not (left / "__7_0.distcp").exists()
