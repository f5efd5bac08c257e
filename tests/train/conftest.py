"""Fixtures of the training tests: gangs of real ranks."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.train.gang import PROGRAMS, RECIPE, ROOT, Gang, RankServer, free_port, rank_environment

# A model that a busy core steps through in milliseconds, with dropout so that random numbers matter.
TINY: Mapping[str, Any] = {
    "layers": 2,
    "hidden": 32,
    "heads": 2,
    "context": 16,
    "global_batch": 12,
    "micro_batch": 2,
    "dropout": 0.1,
    "warmup_steps": 1,
    "steps": 24,
}


@pytest.fixture(scope="session")
def rank_server() -> Iterator[RankServer]:
    """One for all tests of the session."""
    server = RankServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def corpus_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of the session's own, so that the account's is neither needed nor touched."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def launch(rank_server: RankServer, corpus_cache: Path, tmp_path: Path) -> Iterator[Callable[..., Gang]]:
    """Starts a gang: `launch(world_size, program=..., params=..., environ=..., executes=False)`."""
    gangs: list[Gang] = []

    def start(
        world_size: int,
        *,
        program: str | Path | None = None,
        params: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        executes: bool = False,
    ) -> Gang:
        folder = tmp_path / f"attempt-{len(gangs) + 1}"
        folder.mkdir()
        port = free_port()
        what = (
            {"path": str(PROGRAMS / f"{program}.py" if isinstance(program, str) else program)}
            if program
            else {"module": RECIPE}
        )
        recipe = {
            "GANGLINE_RECIPE": "gpt-pretrain",
            "GANGLINE_PARAMS": json.dumps({**TINY, **(params or {})}),
        }
        processes = []
        for rank in range(world_size):
            own = rank_environment(folder, rank=rank, world_size=world_size, port=port)
            order = {
                **what,
                "environ": {**own, **recipe, "XDG_CACHE_HOME": str(corpus_cache), **(environ or {})},
                "folder": str(ROOT),
                "output": str(folder / f"rank-{rank}.log"),
            }
            processes.append(_execute(order) if executes else rank_server.fork(order))
        gangs.append(Gang(folder, processes))
        return gangs[-1]

    yield start
    for gang in gangs:
        gang.stop()


def _execute(order: Mapping[str, Any]) -> "subprocess.Popen[bytes]":
    what = ["-m", order["module"]] if "module" in order else [order["path"]]
    with Path(order["output"]).open("ab") as output:
        return subprocess.Popen(
            [sys.executable, *what],
            env={**os.environ, "PYTHONPATH": str(ROOT), **order["environ"]},
            cwd=order["folder"],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
