"""Stopped or killed, a run goes on as if nothing had happened."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.train.gang import Gang

Launch = Callable[..., Gang]
FP32 = {"precision": "fp32"}


def saving(folder: Path, every: str = "5 steps", **more: str) -> dict[str, str]:
    """The platform's checkpoint variables."""
    return {"GANGLINE_CHECKPOINT_DIR": str(folder), "GANGLINE_CHECKPOINT_EVERY": every, **more}


@pytest.mark.parametrize(
    ("every", "hits"),
    [
        ("5 steps", "7:2:SIGTERM"),
        ("1 steps", "7:0:SIGTERM,7:1:SIGTERM,7:2:SIGTERM,7:3:SIGTERM"),
        ("auto", "7:0:SIGTERM"),
    ],
)
def test_a_preempted_run_repeats_the_losses_of_an_uninterrupted_one_bit_for_bit(
    launch: Launch, tmp_path: Path, every: str, hits: str
) -> None:
    """Four ranks, SIGTERM to one or all; they leave at that very step with a save, all with code 0."""
    whole = launch(4)
    stopped = launch(4, program="interrupted_recipe", environ=saving(tmp_path / "c", every, INTERRUPT=hits))
    assert stopped.wait() == [0] * 4, stopped.output(2)
    assert max(stopped.losses()) == 7
    assert [event["step"] for event in stopped.events("checkpoint")][-1] == 7
    assert not stopped.events("finished")

    resumed = launch(4, environ=saving(tmp_path / "c"))
    assert resumed.wait() == [0] * 4
    assert whole.wait() == [0] * 4
    assert resumed.events("started")[0]["resumed_from"] == 7
    assert min(resumed.losses()) == 8
    assert {**stopped.losses(), **resumed.losses()} == whole.losses()
    assert resumed.events("finished")[0]["step"] == 24


def test_a_killed_rank_takes_its_peers_along_and_the_run_goes_on_from_its_last_save(
    launch: Launch, tmp_path: Path
) -> None:
    """Kill -9: no rank hangs, each says that a peer is lost, and the repeated losses are the same bits."""
    whole = launch(3)
    assert whole.wait() == [0] * 3
    killed = launch(3, program="interrupted_recipe", environ=saving(tmp_path / "c", INTERRUPT="18:1:SIGKILL"))
    codes = killed.wait(seconds=30)
    assert codes[1] == -9
    assert codes[0] == codes[2] == 75, killed.output(0)

    resumed = launch(3, environ=saving(tmp_path / "c"))
    assert resumed.wait() == [0] * 3
    assert resumed.events("started")[0]["resumed_from"] in (5, 10, 15)
    assert {**killed.losses(), **resumed.losses()} == whole.losses()


def test_a_run_resumes_with_another_number_of_ranks(launch: Launch, tmp_path: Path) -> None:
    """Four ranks, then three, then one: within 1e-5 of an uninterrupted run (FP32, no dropout)."""
    params = {"dropout": 0.0, **FP32}
    whole = launch(2, params=params)
    environ = saving(tmp_path / "c")
    first = launch(
        4, program="interrupted_recipe", params=params, environ={**environ, "INTERRUPT": "6:0:SIGTERM"}
    )
    assert first.wait() == [0] * 4
    second = launch(
        3, program="interrupted_recipe", params=params, environ={**environ, "INTERRUPT": "13:2:SIGTERM"}
    )
    assert second.wait() == [0] * 3
    third = launch(1, params=params, environ=environ)
    assert third.wait() == [0]
    assert whole.wait() == [0] * 2
    together = {**first.losses(), **second.losses(), **third.losses()}
    assert together == pytest.approx(whole.losses(), abs=1e-5)
    assert [len(g.losses()) for g in (first, second, third)] == [6, 7, 11]


def test_a_stop_that_comes_after_the_last_step_changes_nothing(launch: Launch, tmp_path: Path) -> None:
    """The work is complete, and the program still writes its results: SIGTERM must not fail it."""
    program = tmp_path / "program.py"
    program.write_text(
        "import os, signal\n"
        "from ray_runtime.train.recipes.gpt_pretrain import GptPretrain\n"
        "plain = GptPretrain._write_result\n"
        "def late(self, *given):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    plain(self, *given)\n"
        "GptPretrain._write_result = late\n"
        "from ray_runtime.train.recipes.__main__ import main\n"
        "main()\n"
    )
    gang = launch(2, program=program, params={"steps": 2})
    assert gang.wait() == [0, 0]
    assert gang.events("finished")
    assert "validation loss" in gang.output(0)


def test_a_save_that_fails_is_told_and_the_training_goes_on(launch: Launch) -> None:
    """A folder that cannot be made: periodic saves warn, only the last, which must succeed, fails the run."""
    gang = launch(2, params={"steps": 8}, environ=saving(Path("/proc/self/nowhere"), "2 steps"))
    assert gang.wait() == [1, 1]
    assert len(gang.losses()) == 8
    assert "the checkpoint at step 2 was not saved" in gang.output(0)
    assert not gang.events("finished")
