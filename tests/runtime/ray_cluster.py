"""A real local Ray cluster: a head and nodes with addresses of their own, started and ended by PID."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from ray_runtime import linux, local
from ray_runtime.launcher import ensure_conductor
from tests.runtime.fake_portal import CONDUCTOR_TOKEN, FakePortal, wait_until

ROOT = Path(__file__).resolve().parent.parent.parent
# Two test runs at once must not share addresses: Ray's per-node agents listen on fixed ports.
SUBNET = f"127.0.{10 + os.getpid() % 200}"
HEAD = f"{SUBNET}.2"


class LocalRay:
    """Head and nodes n1, n2, ... with four slots each."""

    def __init__(self, *, num_nodes: int = 4) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gl"))  # short: socket paths end at 107 bytes; mode 0700
        self.num_nodes = num_nodes
        self.port = _free_port(HEAD)
        self.token_path = self.folder / "token"
        self.token_path.touch(mode=0o600)
        self.token_path.write_text(secrets.token_hex(32))
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def address(self) -> str:
        """Of the GCS."""
        return f"{HEAD}:{self.port}"

    @property
    def environ(self) -> dict[str, str]:
        """For drivers."""
        return local.client_environ(os.environ, token_path=self.token_path, python_path=str(ROOT))

    def address_of(self, name: str) -> str:
        """A node's own address."""
        return f"{SUBNET}.{2 + int(name[1:])}"

    def start(self) -> None:
        """The head, then all nodes at once."""
        self.start_head()
        for number in range(1, self.num_nodes + 1):
            self.start_node(number, wait=False)
        for number in range(1, self.num_nodes + 1):
            self.wait_started(f"n{number}")

    def start_head(self) -> None:
        """Start or restart the head at its address, with its tables.

        After a crash Ray's note of the running cluster makes `ray start` refuse: it takes the waiting nodes
        for a head.
        """
        (self.folder / "head" / "ray_current_cluster").unlink(missing_ok=True)
        command = local.head_command(
            HEAD,
            port=self.port,
            temp_dir=self.folder / "head",
            storage_dir=self.folder / "gcs",
            token_path=self.token_path,
            python_path=str(ROOT),
            inherit=os.environ,
        )
        self._spawn("head", command)
        self.wait_started("head")

    def start_node(self, number: int, *, wait: bool = True) -> None:
        """Start or restart a node under its name and address."""
        name = f"n{number}"
        command = local.node_command(
            self.address_of(name),
            head=self.address,
            temp_dir=self.folder / name,
            token_path=self.token_path,
            python_path=str(ROOT),
            inherit=os.environ,
            num_cpus=4,
            num_slots=4,
            labels={"gangline.node": name, "gangline.zone": "z1"},
        )
        self._spawn(name, command)
        if wait:
            self.wait_started(name)

    def wait_started(self, name: str) -> None:
        """Until `ray start` says so."""
        log = self.folder / f"{name}.log"
        wait_until(lambda: "Ray runtime started" in log.read_text(), 90, lambda: log.read_text()[-2000:])

    def ensure_conductor(self, portal: FakePortal, **patience: float) -> bool:
        """Through the launcher, as the server does it."""
        return ensure_conductor(
            ray_address=self.address,
            portal_url=portal.url,
            token=CONDUCTOR_TOKEN,
            environ=self.environ,
            **patience,
        )

    def worker_pid(self, title: str, *, node: str) -> int:
        """The process of an actor on a node, by the title that Ray gives it."""
        found: list[int] = []

        def look() -> bool:
            found[:] = [process.pid for process in self.workers(title, node=node)]
            return len(found) == 1

        wait_until(look, 20, lambda: [(process.pid, _title(process)) for process in self.tree(node)])
        return found[0]

    def workers(self, title: str, *, node: str) -> list[psutil.Process]:
        """All living processes with this title on a node."""
        return [process for process in self.tree(node) if title in _title(process)]

    def tree(self, name: str) -> list[psutil.Process]:
        """All processes below one `ray start`."""
        try:
            return list(psutil.Process(self.processes[name].pid).children(recursive=True))
        except psutil.NoSuchProcess:
            return []

    def kill_node(self, name: str, *, also: Sequence[psutil.Process] = ()) -> None:
        """What a power loss does to a node, as far as one machine can show it: all its processes at once."""
        for victim in (*also, psutil.Process(self.processes[name].pid), *self.tree(name)):
            _kill(victim)
        self.processes[name].wait(10)

    def repair(self) -> None:
        """Start again what a failed test has left dead."""
        for name, process in list(self.processes.items()):
            if process.poll() is not None:
                self.start_head() if name == "head" else self.start_node(int(name[1:]))

    def stop(self) -> None:
        """End everything that was started here, by PID."""
        doomed = [process for name in self.processes for process in self.tree(name)]
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
        for left in doomed:
            _kill(left)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _spawn(self, name: str, command: local.RayCommand) -> None:
        log = self.folder / f"{name}.log"
        with log.open("wb") as output:
            self.processes[name] = subprocess.Popen(
                command.argv,
                env=command.environ,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=_die_with_the_tests,  # noqa: PLW1509  # a single prctl
            )


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _kill(process: psutil.Process) -> None:
    try:
        process.send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess:
        return


def _die_with_the_tests() -> None:
    """A test run that is killed leaves no cluster behind."""
    linux.set_parent_death_signal(signal.SIGTERM)


def _free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":  # a cluster to play with, until interrupted
    cluster = LocalRay()
    cluster.start()
    sys.stdout.write(f"{cluster.address} {cluster.folder}\n")
    while True:
        time.sleep(3600)
