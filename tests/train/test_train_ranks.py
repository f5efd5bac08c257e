"""Ranks as processes: sums, threads, start, stalls, and what they report."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.train.gang import Gang

Launch = Callable[..., Gang]


def test_gradients_are_those_of_torchs_data_parallelism(launch: Launch) -> None:
    """Tied, unused and FP64 parameters, several buckets, accumulation and clipping included."""
    gang = launch(3, program="bucket_sums")
    assert gang.wait() == [0] * 3, gang.output(0)


def test_an_asynchronous_save_stalls_the_training_for_a_part_of_its_time(
    launch: Launch, tmp_path: Path
) -> None:
    """Bound loosely, for busy machines; the figures are in docs/decisions."""
    gang = launch(2, program="wide_save", environ={"GANGLINE_CHECKPOINT_DIR": str(tmp_path / "c")})
    assert gang.wait() == [0, 0], gang.output(0)
    _, stall, _, whole = gang.output(0).split()[-4:]
    assert float(stall) < 0.25 * float(whole)


def test_the_first_step_needs_neither_compiler_nor_checkpoint_code(launch: Launch) -> None:
    """Seconds of imports for each rank that a fresh interpreter can do without."""
    gang = launch(1, program="frugal_start", params={"steps": 2}, executes=True)
    assert gang.wait() == [0], gang.output(0)
    assert "heavy [] after step 1" in gang.output(0)
    assert "heavy [] after step 2" in gang.output(0), "counting operations took them in"


def test_four_ranks_that_start_at_once_build_one_corpus(launch: Launch, tmp_path: Path) -> None:
    """As `python -m`, with an empty cache; nothing half-written is left, and everything is reported."""
    cache = {"XDG_CACHE_HOME": str(tmp_path / "empty")}
    gang = launch(4, params={"steps": 3}, environ=cache, executes=True)
    assert gang.wait() == [0] * 4, gang.output(0)
    kept = sorted(path.name for path in (tmp_path / "empty" / "gangline").iterdir())
    assert [name.rpartition("-")[2] for name in kept if name.startswith("corpus")] == [
        "train.bin",
        "train.lock",
        "validation.bin",
        "validation.lock",
    ]
    assert [event["kind"] for event in gang.events()] == ["started", *["metrics"] * 3, "finished"]
    assert gang.events("started")[0]["total_steps"] == 3
    assert gang.events("started")[0]["world_size"] == 4
    last = gang.events("metrics")[-1]["values"]
    named = {"loss", "tokens_per_second", "step_seconds", "data_seconds", "mfu", "learning_rate", "grad_norm"}
    assert named <= set(last)
    assert 0 < last["mfu"] < 1.5
    spent = last["step_seconds"] + last["data_seconds"]
    assert last["tokens_per_second"] == pytest.approx(12 * 16 / spent)
    assert not gang.events(rank=1), "the run's numbers are reported once"
    assert "step 3/3  loss" in gang.output(0)
    assert not gang.output(1)


def test_bad_parameters_end_a_rank_with_all_that_is_wrong(launch: Launch) -> None:
    """For those who start it by hand: the portal has checked before."""
    gang = launch(1, params={"layers": 0, "colour": 1})
    assert gang.wait() == [1]
    assert "params.layers: must be between" in gang.output(0)
    assert "params.colour: is not a parameter" in gang.output(0)


def test_the_loss_falls_on_real_text_and_files_never_seen(launch: Launch, tmp_path: Path) -> None:
    """Sixty steps of a small model; the outputs say how it went."""
    params = {"layers": 2, "hidden": 64, "context": 32, "global_batch": 16, "steps": 60, "dropout": 0.0}
    gang = launch(2, params={**params, "micro_batch": 8, "learning_rate": 0.01, "warmup_steps": 5})
    assert gang.wait() == [0, 0]
    losses = gang.losses()
    assert losses[1] == pytest.approx(5.5, abs=0.3)
    assert losses[60] < 3.2
    assert "validation loss" in gang.output(0)
    assert (tmp_path / "attempt-1" / "outputs" / "result.json").exists()
