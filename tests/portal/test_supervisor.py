"""The supervisor with all its real children: it starts in order, keeps them, and leaves nothing behind."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.platform import SOURCE_PATH, LivePlatform, running_platform, wait_until

CHILDREN = {
    *("postgres", "redis", "portal", "worker", "tick", "beat"),
    *("ray-head", "ray-n1", "ray-n2", "ray-n3", "ray-n4"),
}


@pytest.mark.platform
def test_every_part_is_ready_and_answers(live_platform: LivePlatform) -> None:
    """Ready means that each part does its work, and the portal says so itself."""
    children = live_platform.children()
    assert set(children) == CHILDREN
    assert all(child["ready"] for child in children.values())
    with live_platform.client() as client:
        assert client.get("readyz").json()["status"] == "ok"


@pytest.mark.platform
@pytest.mark.parametrize("name", ["portal", "worker", "tick", "beat", "redis", "postgres"])
def test_a_killed_part_comes_back(live_platform: LivePlatform, name: str) -> None:
    """A part that is gone is started again, and works."""
    live_platform.restart_child(name)
    with live_platform.client() as client:
        wait_until(lambda: client.get("readyz").status_code == 200, seconds=30, what="the portal is ready")


@pytest.mark.platform
def test_the_ray_head_comes_back_at_its_address(live_platform: LivePlatform) -> None:
    """The nodes wait for it, so `ray start` must not take them for a head that runs."""
    before = live_platform.children()["ray-head"]["num_starts"]
    address = _gcs_address(live_platform)
    live_platform.kill("ray-head", matching="gcs_server")
    live_platform.wait_ready("ray-head", more_starts_than=before)
    assert _gcs_address(live_platform) == address


@pytest.mark.platform
def test_secrets_and_credentials_are_closed(live_platform: LivePlatform) -> None:
    """Files with secrets are their owner's alone, and Ray's processes see none of the portal's settings."""
    for name in ("secrets.json", "admin.json", "demo.json", "ray-token"):
        assert (live_platform.data_dir / name).stat().st_mode & 0o777 == 0o600
    for node in ("ray-head", "ray-n1"):
        seen = psutil.Process(live_platform.pid(node)).environ()
        assert not {"DATABASE_URL", "REDIS_URL", "GANGLINE_SECRET_KEY"} & set(seen)


@pytest.mark.platform
def test_a_second_platform_is_refused_in_words(live_platform: LivePlatform, tmp_path: Path) -> None:
    """Neither the same folder nor a port that is taken."""
    busy_port = live_platform.url.rpartition(":")[2]
    said = _refused(f"--data-dir={live_platform.data_dir}", "--port=0")
    assert f"{live_platform.data_dir} is in use by process" in said
    said = _refused(f"--data-dir={tmp_path / 'other'}", f"--port={busy_port}")
    assert f"Port {busy_port} on 127.0.0.1 cannot be used" in said
    assert "--port" in said


def test_a_wrong_setting_is_refused_before_anything_starts(tmp_path: Path) -> None:
    """The message names the setting; no database was made."""
    said = _refused(f"--data-dir={tmp_path / 'd'}", "--port=0", environ={"GANGLINE_PROT": "8000"})
    assert "GANGLINE_PROT: unknown setting" in said
    assert not (tmp_path / "d" / "postgres").exists()


@pytest.mark.platform
def test_a_stop_leaves_no_process_and_a_start_finds_its_data() -> None:
    """SIGTERM ends everything with code 0; the same folder starts again with the same users."""
    with running_platform() as platform:
        token = platform.admin.token
        processes = _all_processes(platform)
        assert platform.stop() == 0
        assert _alive(processes) == []
        platform.start()
        assert platform.admin.token == token
        with platform.client() as client:
            assert client.get("version").status_code == 200
        processes = _all_processes(platform)
        os.kill(platform.children_file()["supervisor"], signal.SIGKILL)
        wait_until(lambda: _alive(processes) == [], seconds=15, what="all children died with the supervisor")


def _gcs_address(platform: LivePlatform) -> tuple[str, int]:
    (gcs,) = platform.processes("ray-head", matching="gcs/gcs_server")
    port = next(part for part in gcs.cmdline() if part.startswith("--gcs_server_port="))
    return gcs.cmdline()[0], int(port.partition("=")[2])


def _refused(*arguments: str, environ: dict[str, str] | None = None) -> str:
    foreign = ("DATABASE_URL", "REDIS_URL")
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in foreign and not name.startswith("GANGLINE_")
    }
    done = subprocess.run(
        [sys.executable, "-m", "portal.supervisor", *arguments],
        env={**kept, "PYTHONPATH": SOURCE_PATH, **(environ or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout


def _all_processes(platform: LivePlatform) -> list[psutil.Process]:
    supervisor = psutil.Process(platform.children_file()["supervisor"])
    return list(supervisor.children(recursive=True))


def _alive(processes: list[psutil.Process]) -> list[str]:
    alive = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                alive.append(f"{process.pid} {' '.join(process.cmdline())[:80]}")
    return alive
