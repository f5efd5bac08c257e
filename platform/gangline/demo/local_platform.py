"""Runs the platform as a child process for as long as the demo lasts."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gangline.checkout import find_checkout, server_environment, supervisor_command
from gangline.errors import BadUsage, Detail, NotReachable
from gangline.words import say

Json = dict[str, Any]
READY_SECONDS, STOP_SECONDS, POLL_SECONDS = 300.0, 90.0, 0.25
PREFERRED_PORT = 8000
PR_SET_PDEATHSIG = 1


class LocalPlatform:
    """The supervisor as a child; leaving the `with` block stops it and everything it started."""

    def __init__(self, folder: Path) -> None:
        self.data_dir, self.log_path = folder / "data", folder / "supervisor.log"
        self._ready_path = folder / "ready.json"
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._checkout = find_checkout(os.environ, Path.cwd())
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        command = supervisor_command(
            data_dir=self.data_dir, port=self.port, seed="demo", json_ready=self._ready_path
        )
        with self.log_path.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self._checkout,
                env=server_environment(self._checkout, os.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C is ours to handle: the supervisor stops in its own order
                preexec_fn=_die_with_parent,  # noqa: PLW1509  # no thread runs yet
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(STOP_SECONDS)

    @property
    def pid(self) -> int:
        """The supervisor's process id."""
        return self._process.pid if self._process else 0

    @property
    def exit_code(self) -> int | None:
        """The supervisor's, once it has ended."""
        return self._process.poll() if self._process else None

    def wait_until_ready(self) -> None:
        """Return when every part of the platform does its work and the accounts of the demo are there."""
        deadline = time.monotonic() + READY_SECONDS
        while not self._ready_path.exists():
            self.check_alive()
            if time.monotonic() > deadline:
                raise NotReachable(
                    say("The platform was not ready within {seconds:.0f} seconds.", seconds=READY_SECONDS),
                    todo=say("Look into {path}.", path=self.log_path),
                )
            time.sleep(POLL_SECONDS)

    def check_alive(self) -> None:
        """Raise, with the last lines of its log, if the supervisor has ended."""
        if self.exit_code is not None:
            lines = self.log_path.read_text(errors="replace").splitlines()[-15:]
            raise BadUsage(
                say("The platform ended with exit code {code}. Its last lines:", code=self.exit_code),
                code="platform_ended",
                details=tuple(Detail("log", line) for line in lines),
            )

    def read(self, name: str) -> Json:
        """One of the JSON files that the supervisor leaves in its data folder."""
        content: Json = json.loads((self.data_dir / name).read_text(encoding="utf-8"))
        return content


def _free_port() -> int:
    for port in (PREFERRED_PORT, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise BadUsage(say("There is no free port on 127.0.0.1."))


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
