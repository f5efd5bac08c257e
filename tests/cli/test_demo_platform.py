"""The demo's child platform: ready, dead, stubborn. The supervisor here is a small script of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gangline import checkout
from gangline.demo import local_platform
from gangline.demo.local_platform import LocalPlatform
from gangline.errors import BadUsage, NotReachable

BEGIN = """
import json, os, pathlib, signal, sys, time
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
data_dir = pathlib.Path(options["--data-dir"])
data_dir.mkdir()
environ = {name: value for name, value in os.environ.items() if name.startswith("GANGLINE_")}
(data_dir / "admin.json").write_text(json.dumps({"options": options, "environ": environ}))
"""
READY = "pathlib.Path(options['--json-ready']).write_text('{}')\n"
WAIT = "time.sleep(600)\n"

Supervise = Callable[[str], LocalPlatform]


@pytest.fixture
def supervise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Supervise:
    """A platform whose supervisor is the given script."""
    home = tmp_path / "checkout"
    (home / "platform" / "portal").mkdir(parents=True)
    (home / "manage.py").touch()
    (home / "platform" / "portal" / "__init__.py").touch()
    monkeypatch.setenv("GANGLINE_HOME", str(home))
    monkeypatch.setenv("GANGLINE_TOKEN", "glt_mine")
    monkeypatch.setattr(checkout, "SERVER_PACKAGES", ())

    def make(script: str) -> LocalPlatform:
        (home / "platform" / "portal" / "supervisor.py").write_text(BEGIN + script)
        return LocalPlatform(tmp_path)

    return make


def test_it_is_ready_when_the_supervisor_says_so_and_gone_afterwards(supervise: Supervise) -> None:
    """With the demo's seed, a port of its own, and nothing of the client's environment."""
    with supervise(READY + WAIT) as platform:
        platform.wait_until_ready()
        assert platform.exit_code is None
        told = platform.read("admin.json")
    assert told["options"]["--seed"] == "demo"
    assert told["options"]["--port"] == str(platform.port)
    assert told["environ"].keys() & {"GANGLINE_HOME", "GANGLINE_URL", "GANGLINE_TOKEN"} == set()
    assert platform.exit_code == -signal.SIGTERM


def test_a_supervisor_that_ends_is_told_with_its_last_lines(supervise: Supervise) -> None:
    """So that one sees why without looking for a log."""
    script = "print('port 8000 is taken'); sys.exit(2)\n"
    with supervise(script) as platform, pytest.raises(BadUsage) as ended:
        platform.wait_until_ready()
    assert "2" in ended.value.message
    assert [detail.problem for detail in ended.value.details] == ["port 8000 is taken"]


def test_one_that_is_never_ready_is_not_waited_for_for_ever(
    supervise: Supervise, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where to look is told."""
    monkeypatch.setattr(local_platform, "READY_SECONDS", 0.3)
    with supervise(WAIT) as platform, pytest.raises(NotReachable) as late:
        platform.wait_until_ready()
    assert "supervisor.log" in late.value.todo


def test_one_that_does_not_stop_is_killed(supervise: Supervise, monkeypatch: pytest.MonkeyPatch) -> None:
    """After it had its time."""
    monkeypatch.setattr(local_platform, "STOP_SECONDS", 0.3)
    with supervise("signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + READY + WAIT) as platform:
        platform.wait_until_ready()
    assert platform.exit_code == -signal.SIGKILL


def test_the_platform_does_not_outlive_a_demo_that_is_killed(supervise: Supervise, tmp_path: Path) -> None:
    """Nobody is left to stop it."""
    platform = supervise(READY + "(data_dir / 'pid').write_text(str(os.getpid()))\n" + WAIT)
    code = (
        "import pathlib, sys, time\n"
        "from gangline.demo.local_platform import LocalPlatform\n"
        "with LocalPlatform(pathlib.Path(sys.argv[1])) as platform:\n"
        "    platform.wait_until_ready()\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(600)\n"
    )
    roots = str(Path(__file__).parents[2] / "platform")
    environ = {**os.environ, "PYTHONPATH": roots}
    command = [sys.executable, "-c", code, str(tmp_path)]
    checkout_packages = {"GANGLINE_HOME": os.environ["GANGLINE_HOME"]}
    with subprocess.Popen(command, env={**environ, **checkout_packages}, stdout=subprocess.PIPE) as demo:
        assert demo.stdout is not None
        assert demo.stdout.readline() == b"ready\n"
        pid = int(_text_of(platform.data_dir / "pid"))
        demo.kill()
    assert _is_gone_within(pid, seconds=10)


def test_a_port_that_is_taken_is_not_used(supervise: Supervise, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two demos can run beside one another."""
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(local_platform, "PREFERRED_PORT", taken.getsockname()[1])
        assert supervise(WAIT).port != taken.getsockname()[1]


def _text_of(path: Path) -> str:
    """The file's text once it is written."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if path.exists() and path.read_text():
            return path.read_text()
    raise AssertionError(json.dumps({"never written": str(path)}))


def _is_gone_within(pid: int, *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
    return False
