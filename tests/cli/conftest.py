"""The command line run in this process against a real HTTP server, with an environment of its own."""

import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gangline.main import main
from tests.cli.recording_portal import RecordingPortal


@dataclass(frozen=True, slots=True)
class Result:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


Command = Callable[..., Result]


@pytest.fixture
def portal() -> Iterator[RecordingPortal]:
    """A portal without any script: everything is 404."""
    with RecordingPortal() as running:
        yield running


@pytest.fixture
def gangline(
    portal: RecordingPortal,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Command:
    """Runs `gangline` with the given arguments, logged in to the portal; `stdin` stands for a pipe."""
    for name in ("LC_ALL", "LC_MESSAGES", "XDG_CONFIG_HOME", "GANGLINE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    environment = {
        "HOME": str(tmp_path),
        "LANG": "C",
        "GANGLINE_URL": portal.url,
        "GANGLINE_TOKEN": "glt_test",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str, stdin: str = "") -> Result:
        monkeypatch.setattr(sys, "argv", ["gangline", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        code = ended.value.code
        return Result(code if isinstance(code, int) else int(code is not None), printed.out, printed.err)

    return run
