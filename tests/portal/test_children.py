"""A supervised child that does not come up at once."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.children import Child, Command, StartError
from portal.commands import SOURCE_PATH
from portal.sessions import Keeper

FAILS_ONCE = """
import pathlib, sys, time
mark = pathlib.Path(sys.argv[1])
if not mark.exists():
    mark.touch()
    sys.exit(3)
print("up", flush=True)
time.sleep(60)
"""


@pytest.fixture
def keeper() -> Iterator[Keeper]:
    """Ends the sessions of children whose supervisor is gone; here, this test."""
    keeper = Keeper(SOURCE_PATH)
    yield keeper
    keeper.close()


def _child(folder: Path, keeper: Keeper, *, num_tries: int) -> Child:
    command = Command(argv=(sys.executable, "-c", FAILS_ONCE, str(folder / "mark")), environ=dict(os.environ))

    async def said_up(child: Child) -> bool:
        return "up" in child.lines

    return Child(
        name="slow",
        build=lambda: command,
        probe=said_up,
        log_dir=folder,
        held=folder / "held",
        show=lambda _name, _line: None,
        changed=lambda: None,
        keeper=keeper,
        num_tries=num_tries,
    )


async def test_a_child_with_tries_left_is_started_again(tmp_path: Path, keeper: Keeper) -> None:
    """Its first start fails, its second does its work."""
    child = _child(tmp_path, keeper, num_tries=2)
    await child.start()
    try:
        assert (child.ready, child.num_starts) == (True, 2)
    finally:
        await child.stop()


async def test_without_tries_left_the_start_fails_with_the_code(tmp_path: Path, keeper: Keeper) -> None:
    """One try: the error names the child and its exit code."""
    child = _child(tmp_path, keeper, num_tries=1)
    with pytest.raises(StartError, match="slow ended with code 3"):
        await child.start()
    await child.stop()
