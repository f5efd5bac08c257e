"""The three calls in a user's own program, inside and outside the platform."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.train.gang import PROGRAMS, Gang, RankServer

Launch = Callable[..., Gang]


class Ledger:
    """What the program wrote down: ids and loss by step, over the ranks of one attempt."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def environ(self, **options: Any) -> dict[str, str]:
        """Variables that make `programs/ledger.py` write here."""
        return {"LEDGER": str(self.path), "PROGRAM": json.dumps(options)}

    def ids(self) -> dict[int, list[int]]:
        """Ids of all ranks by step."""
        found: dict[int, list[int]] = {}
        for step, ids, _ in self._lines():
            found.setdefault(step, []).extend(ids)
        return found

    def losses(self) -> dict[int, float]:
        """Loss by step, which is the same on every rank."""
        return {step: loss for step, _, loss in self._lines()}

    def _lines(self) -> list[tuple[int, list[int], float]]:
        files = self.path.parent.glob(f"{self.path.name}-*.jsonl")
        return [tuple(json.loads(line)) for file in files for line in file.read_text().splitlines()]


def test_every_sample_is_used_once_an_epoch_across_stops_kills_and_sizes(
    launch: Launch, tmp_path: Path
) -> None:
    """Three ranks preempted, four with one killed, then two: the surviving history has each id once."""
    options = {"samples": 52, "batch": 8, "micro": 1, "epochs": 2}
    saving = {"GANGLINE_CHECKPOINT_DIR": str(tmp_path / "c"), "GANGLINE_CHECKPOINT_EVERY": "2 steps"}
    history: dict[int, list[int]] = {}
    plan: list[tuple[int, dict[str, Any]]] = [
        (3, {"step": 4, "rank": 1, "signal": "SIGTERM"}),
        (4, {"step": 11, "rank": 3, "signal": "SIGKILL"}),
        (2, {}),
    ]
    for number, (world_size, stop) in enumerate(plan):
        ledger = Ledger(tmp_path / f"ledger{number}")
        gang = launch(
            world_size, program="ledger", environ={**saving, **ledger.environ(**options, stop=stop)}
        )
        gang.wait()
        begun = gang.events("started")[0]["resumed_from"] or 0
        history = {step: ids for step, ids in history.items() if step <= begun} | ledger.ids()
    assert sorted(history) == list(range(1, 15))
    for epoch in (range(1, 8), range(8, 15)):
        assert Counter(i for step in epoch for i in history[step]) == Counter(range(52))
    assert [history[step] for step in range(1, 8)] != [history[step] for step in range(8, 15)], "mixed anew"


def test_three_ranks_and_one_agree_to_1e_9_in_fp64(launch: Launch, tmp_path: Path) -> None:
    """20 steps, the last of each epoch with fewer samples than ranks."""
    options = {"samples": 49, "batch": 8, "micro": 2, "steps": 20, "double": True}
    one, three = Ledger(tmp_path / "one"), Ledger(tmp_path / "three")
    gangs = [
        launch(world_size, program="ledger", environ=ledger.environ(**options))
        for world_size, ledger in ((1, one), (3, three))
    ]
    assert [gang.wait() for gang in gangs] == [[0], [0] * 3]
    assert len(one.losses()) == 20
    assert three.losses() == pytest.approx(one.losses(), abs=1e-9)


def test_a_loader_with_a_scheduler_resumes_bit_for_bit(launch: Launch, tmp_path: Path) -> None:
    """torch's own `DataLoader` (with a worker) and scheduler; dropout draws the same numbers again."""
    options = {"samples": 40, "batch": 8, "steps": 12, "loader": 2, "scheduler": True, "dropout": 0.2}
    saving = {"GANGLINE_CHECKPOINT_DIR": str(tmp_path / "c")}
    whole, parts = Ledger(tmp_path / "whole"), Ledger(tmp_path / "parts")
    stop = {"step": 7, "rank": 0, "signal": "SIGTERM"}
    gangs = [
        launch(2, program="ledger", environ=whole.environ(**options)),
        launch(2, program="ledger", environ={**saving, **parts.environ(**options, stop=stop)}),
    ]
    assert [gang.wait() for gang in gangs] == [[0, 0]] * 2, gangs[1].output(0)
    assert "after the loop" in gangs[0].output(0)
    assert "after the loop" not in gangs[1].output(0), "a preempted program leaves by itself"
    again = launch(2, program="ledger", environ={**saving, **parts.environ(**options)})
    assert again.wait() == [0, 0], again.output(0)
    assert parts.losses() == whole.losses()
    assert again.events("metrics")[-1]["values"]["half"] == whole.losses()[12] / 2


def test_the_same_program_runs_outside_the_platform(rank_server: RankServer, tmp_path: Path) -> None:
    """No variables at all: one process, nothing saved, nothing reported, the same losses."""
    ledger = Ledger(tmp_path / "alone")
    rank = rank_server.fork(
        {
            "path": str(PROGRAMS / "ledger.py"),
            "environ": ledger.environ(samples=24, batch=6),
            "folder": str(tmp_path),
            "output": str(tmp_path / "log"),
        }
    )
    assert Gang(tmp_path, [rank]).wait() == [0]
    assert sorted(ledger.losses()) == [1, 2, 3, 4]
    assert "step 4/4  loss" in (tmp_path / "log").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone-0.jsonl", "log"]


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("for batch in run: pass", "call run.step(batch) exactly once"),
        ("for batch in run: run.step(batch); run.step(batch)", "call run.step(batch) exactly once"),
        ("start(data=iter([1]))", "cannot be resumed exactly"),
        ("start(precision='fp7')", "fp7"),
        ("start(checkpoint_dir='c', checkpoint_every='often')", "not 'often'"),
    ],
)
def test_misuse_is_an_error_that_says_what_to_do(
    launch: Launch, tmp_path: Path, lines: str, complaint: str
) -> None:
    """And ends the process with code 1."""
    program = tmp_path / "program.py"
    program.write_text(
        "import torch\nfrom ray_runtime import train\n"
        "model = torch.nn.Linear(1, 1)\n"
        "given = dict(model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1),\n"
        "    data=[(torch.ones(1), torch.ones(1))] * 4, loss=torch.nn.functional.mse_loss, batch_size=2)\n"
        "def start(**changed): return train.start(**{**given, **changed})\n"
        "run = start()\n" + lines + "\n"
    )
    gang = launch(1, program=program)
    assert gang.wait() == [1]
    assert complaint in gang.output(0)


def test_an_error_on_one_rank_ends_all_of_them(launch: Launch, tmp_path: Path) -> None:
    """The culprit leaves with 1 and its traceback, its peers with the code of those who lost a peer."""
    program = tmp_path / "program.py"
    program.write_text(
        (PROGRAMS / "ledger.py")
        .read_text()
        .replace("run.log(", "assert (run.steps_done, run.rank) != (3, 1)\n            run.log(")
    )
    ledger = Ledger(tmp_path / "ledger")
    gang = launch(3, program=program, environ=ledger.environ(samples=60, batch=6))
    assert gang.wait(seconds=30) == [75, 1, 75]
    assert "AssertionError" in gang.output(1)
