"""The network between two hosts fails while a gang spans both: real interfaces, real lost packets."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.acceptance.acting import (
    archive,
    attempts,
    job,
    log_bytes,
    nodes,
    processes_of,
    queue,
    submit,
    wait_state,
)
from tests.e2e.namespaces import Cable, inside, two_hosts
from tests.support.platform import SOURCE_PATH, LivePlatform, running_platform, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
HEAD = "10.251.0.1"


@dataclass(slots=True)
class Machines:
    """The production commands of a Ray head and two nodes, each in its namespace, outside the supervisor."""

    cable: Cable
    folder: Path
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    @property
    def token_path(self) -> Path:
        """The cluster's token."""
        return self.folder / "token"

    def start(self) -> None:
        """The head, then a node on each host."""
        self.token_path.touch(mode=0o600)
        self.token_path.write_text(secrets.token_hex(32))
        self._start("head", "ray-head", self.cable.left, HEAD)
        self._start("left", "ray-node", self.cable.left, "10.251.0.3")
        self.start_right()

    def start_right(self) -> None:
        """Also again: what a service manager does with a node that Ray had given up and that has ended."""
        if "right" not in self.processes or self.processes["right"].poll() is not None:
            self._start("right", "ray-node", self.cable.right, "10.251.0.2")

    def stop(self) -> None:
        """End them all, the head last."""
        for process in reversed(self.processes.values()):
            process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()

    def _start(self, name: str, command: str, namespace: str, address: str) -> None:
        environ = {
            key: value for key, value in os.environ.items() if not key.startswith(("GANGLINE_", "RAY_"))
        }
        environ |= {
            "PYTHONPATH": SOURCE_PATH,
            "RAY_AUTH_TOKEN_PATH": str(self.token_path),
            "GANGLINE_RAY_ADDRESS": f"{HEAD}:6379",
            "GANGLINE_RAY_DIR": str(self.folder),
            "GANGLINE_NODE_NAME": name,
            "GANGLINE_NODE_ADDRESS": address,
            "GANGLINE_NODE_SLOTS": "0" if name == "head" else "4",
            "GANGLINE_NODE_CPUS": "0" if name == "head" else "4",
        }
        log = self.folder / f"{name}.log"
        with log.open("wb") as output, inside(namespace):
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", "portal.commands", command],
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_until(
            lambda: "Ray runtime started" in log.read_text(errors="replace"),
            seconds=120,
            what=f"{name} is up",
        )


@contextmanager
def _platform_on(machines: Machines) -> Iterator[LivePlatform]:
    """The platform on the left host, with the outside Ray cluster of both."""
    environ = {
        "GANGLINE_RAY_ADDRESS": f"{HEAD}:6379",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(machines.token_path),
        "GANGLINE_ALLOWED_HOSTS": f"127.0.0.1,{HEAD}",
        "GANGLINE_PUBLIC_URL": f"http://{HEAD}:8000",
        "GANGLINE_HOST": "0.0.0.0",  # of its own namespace: loopback and the cable
    }
    with running_platform(environ=environ, port=8000) as platform:
        yield platform


@pytest.fixture
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Two hosts with Ray on both."""
    with two_hosts() as cable:
        machines = Machines(cable, _short_folder(tmp_path_factory))
        try:
            machines.start()
            yield machines
        finally:
            machines.stop()


def _short_folder(factory: pytest.TempPathFactory) -> Path:
    return factory.mktemp("net")


def test_a_gang_whose_hosts_lose_sight_of_each_other_ends_and_the_host_is_used_again(
    machines: Machines,
) -> None:
    """The cable is pulled: the job fails naming the host. It is plugged in: all is as before."""
    with (
        inside(machines.cable.left),
        _platform_on(machines) as platform,
        platform.client(platform.person("member")) as member,
        platform.client() as admin,
    ):
        wait_until(lambda: _ready(admin) == {"left", "right"}, seconds=120, what="both hosts are ready")
        gang = submit(member, code=archive("ticking.py"), workers=2, run="python3 ticking.py")
        wait_state(member, gang["id"], "running")
        wait_until(
            lambda: all(log_bytes(member, gang["id"], rank=rank) for rank in (0, 1)),
            seconds=30,
            what="both workers have logged",
        )

        machines.cable.pull()
        failed = wait_state(member, gang["id"], "failed", seconds=60)
        assert "right" in failed["reason"]["text"]
        assert attempts(member, gang["id"])[0]["end_cause"] == "node_lost"
        assert queue(member, "research")["used"] == 0
        wait_until(lambda: nodes(admin)["right"]["state"] == "unreachable", seconds=30, what="it is shown")
        small = submit(member, run="true")
        wait_state(member, small["id"], "succeeded", seconds=30)

        machines.cable.plug_in()
        wait_until(lambda: _is_back(admin, machines), seconds=180, what="the host is ready again")
        wait_until(lambda: not processes_of(gang["id"]), seconds=60, what="nothing of the gang is left")
        assert job(member, gang["id"])["state"] == "failed"
        again = submit(member, workers=2, run="true")
        wait_state(member, again["id"], "succeeded", seconds=90)


def _ready(admin: httpx.Client) -> set[str]:
    return {name for name, node in nodes(admin).items() if node["state"] == "ready"}


def _is_back(admin: httpx.Client, machines: Machines) -> bool:
    machines.start_right()
    return _ready(admin) == {"left", "right"}
