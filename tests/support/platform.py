"""A whole running platform for tests: the real supervisor with all its children in a folder of its own."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psutil

ROOT = Path(__file__).resolve().parents[2]
SOURCE_PATH = f"{ROOT / 'platform'}{os.pathsep}{ROOT}"
START_SECONDS = 180
STOP_SECONDS = 60
POLL_SECONDS = 0.1

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody's credentials; `team` is empty for the platform admin."""

    username: str
    password: str
    token: str
    role: str
    team: str


class LivePlatform:
    """The running platform: who can log in, what runs, and how to break it."""

    def __init__(self, folder: Path, *, environ: dict[str, str] | None = None, port: int = 0) -> None:
        self.folder = folder
        self.data_dir = folder / "d"
        self.url = ""
        self._environ = environ or {}
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the supervisor and wait until every part does its work."""
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(
                        sys.executable,
                        "-m",
                        "portal.supervisor",
                        f"--data-dir={self.data_dir}",
                        f"--port={self._port}",
                    ),
                    *("--seed=demo", f"--json-ready={ready}"),
                ],
                env=self._own_environ(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_until(lambda: ready.exists() or self._ended(), seconds=START_SECONDS, what="the platform is up")
        if self._ended():
            raise RuntimeError(f"the platform did not start:\n{self.log_tail()}")
        self.url = json.loads(ready.read_text())["url"]

    def stop(self) -> int:
        """Stop everything in order; the supervisor's exit code."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise

    def restart(self) -> None:
        """The whole platform, as after a reboot: same data folder, perhaps another port."""
        self.stop()
        self.start()

    # --- who ---------------------------------------------------------------------------------------------

    @property
    def admin(self) -> Person:
        """The platform admin."""
        data = json.loads((self.data_dir / "admin.json").read_text())
        return Person(data["username"], data["password"], data["token"], "platform_admin", "")

    def person(self, role: str = "member", *, team: str = "research") -> Person:
        """The demo team's user of this role: `member`, `viewer` or `team_admin`."""
        teams = json.loads((self.data_dir / "demo.json").read_text())["teams"]
        users = next(one["users"] for one in teams if one["slug"] == team)
        found = next(user for user in users if user["role"] == role)
        return Person(found["username"], found["password"], found["token"], role, team)

    def client(self, person: Person | None = None) -> httpx.Client:
        """A plain HTTP client for `/api/v1/` with this person's token (default: the platform admin)."""
        return httpx.Client(
            base_url=f"{self.url}/api/v1/",
            headers={"Authorization": f"Bearer {(person or self.admin).token}"},
            timeout=30,
        )

    # --- what runs ---------------------------------------------------------------------------------------

    def children(self) -> dict[str, dict[str, Any]]:
        """Each child by name, with `pid`, `ready` and `num_starts`."""
        children: dict[str, dict[str, Any]] = self.children_file()["children"]
        return children

    def children_file(self) -> dict[str, Any]:
        """What the supervisor writes about itself: its own process id as `supervisor`, and `children`."""
        written: dict[str, Any] = json.loads((self.data_dir / "run" / "pids.json").read_text())
        return written

    def pid(self, name: str) -> int:
        """The child's process id; it is running."""
        pid = self.children()[name]["pid"]
        assert isinstance(pid, int), f"{name} is not running"
        return pid

    def processes(self, name: str, *, matching: str = "") -> list[psutil.Process]:
        """The child and all below it, as far as their command lines have `matching` in them (`raylet`…)."""
        top = psutil.Process(self.pid(name))
        found = []
        for process in (top, *top.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                if matching in " ".join(process.cmdline()):
                    found.append(process)
        return found

    def kill(self, name: str, *, matching: str = "") -> None:
        """SIGKILL to the child (or to what `processes` finds in it); the supervisor starts it again."""
        processes = self.processes(name, matching=matching) if matching else [psutil.Process(self.pid(name))]
        for process in processes:
            process.kill()

    def restart_child(self, name: str) -> None:
        """Kill one child and wait until its successor does its work."""
        before = self.children()[name]["num_starts"]
        self.kill(name)
        self.wait_ready(name, more_starts_than=before)

    def wait_ready(self, name: str, *, more_starts_than: int = 0, seconds: float = 90) -> None:
        """Wait until the child does its work, in a later life than the given one."""

        def ready() -> bool:
            child = self.children()[name]
            return bool(child["ready"]) and child["num_starts"] > more_starts_than

        wait_until(ready, seconds=seconds, what=f"{name} does its work")

    @contextmanager
    def held_down(self, name: str) -> Iterator[None]:
        """Kill the child and keep it down while the block runs; then wait until it is back."""
        held = self.data_dir / "run" / "held" / name
        held.parent.mkdir(exist_ok=True)
        before = self.children()[name]["num_starts"]
        held.touch()
        self.kill(name)
        try:
            yield
        finally:
            held.unlink()
            self.wait_ready(name, more_starts_than=before)

    def log_tail(self, name: str | None = None, *, lines: int = 60) -> str:
        """The end of a child's log, or of the supervisor's own."""
        path = self.data_dir / "logs" / f"{name}.log" if name else self._log_path
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])

    @property
    def _log_path(self) -> Path:
        return self.folder / "supervisor.log"

    def _ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def _own_environ(self) -> dict[str, str]:
        """Ours without this test run's servers and settings: it brings its own."""
        foreign = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in foreign and not name.startswith(("GANGLINE_", "RAY_"))
        }
        return {**kept, "PYTHONPATH": SOURCE_PATH, **self._environ}


@contextmanager
def running_platform(*, environ: dict[str, str] | None = None, port: int = 0) -> Iterator[LivePlatform]:
    """Start a platform, hand it out, stop it, delete its folder. The path is short: Ray's sockets need it."""
    folder = Path(tempfile.mkdtemp(prefix="gl"))
    folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
    platform = LivePlatform(folder, environ=environ, port=port)
    try:
        platform.start()
        yield platform
    finally:
        platform.stop()
        shutil.rmtree(folder, ignore_errors=True)


def wait_until(ask: Callable[[], T], *, seconds: float, what: str, every: float = POLL_SECONDS) -> T:
    """Ask until the answer is true; its value. A test fails with `what` when it takes longer."""
    ends_at = time.monotonic() + seconds
    while True:
        answer = ask()
        if answer:
            return answer
        assert time.monotonic() < ends_at, f"not within {seconds} s: {what}"
        time.sleep(every)
