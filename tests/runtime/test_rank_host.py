"""Rank hosts without Ray: every process of an attempt ends, whatever it did to get away."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from ray_runtime.hosts import HostLink, Nursery
from ray_runtime.start import RankPlan
from tests.runtime.patience import until

RUNAWAYS = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, lambda *_: print("BYE-1", flush=True))
subprocess.Popen(["sleep", "600"])
subprocess.Popen(["sleep", "600"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    os._exit(0)
number = 0
while True:
    print(number, flush=True)
    number += 1
    time.sleep(0.02)
"""


class Hosts:
    """Starts hosts as an agent does, and finds what is left of them."""

    def __init__(self, nursery: Nursery, folder: Path) -> None:
        self.nursery = nursery
        self.folder = folder
        self.died = asyncio.Event()
        self._running: list[Running] = []

    async def start(self, *argvs: tuple[str, ...], folder: str | None = None) -> "Running":
        """One rank per command."""
        link, swept = await self.nursery.open_host()
        plans = [
            RankPlan(
                rank=rank,
                argv=argv,
                environ={"PATH": os.environ["PATH"], "MARK": str(self.folder), "ONLY": "this"},
                folder=folder or str(self.folder),
                log=str(self.folder / f"rank-{rank}.log"),
            )
            for rank, argv in enumerate(argvs)
        ]
        link.send_plan(plans, exits=self.folder / "exits")
        self._running.append(Running(link, swept, self.folder))  # dropped, it would close its socket
        return self._running[-1]

    def alive(self) -> list[psutil.Process]:
        """Every living process that carries the mark."""
        return [process for process in psutil.process_iter() if _mark(process) == str(self.folder)]


class Running:
    """One host that has its plan."""

    def __init__(self, link: HostLink, swept: asyncio.Event, folder: Path) -> None:
        self.link = link
        self.swept = swept
        self.messages: list[Mapping[str, Any]] = []
        self._folder = folder
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self.link.messages():
            self.messages.append(message)

    async def until_gone(self) -> list[Mapping[str, Any]]:
        """Wait for its end; returns all that it said."""
        await asyncio.wait_for(self._reader, 15)
        await asyncio.wait_for(self.swept.wait(), 15)
        return self.messages

    def exits(self) -> dict[int, int]:
        """Exit code by rank."""
        return {message["exit"]: message["code"] for message in self.messages if "exit" in message}

    def log(self, rank: int = 0) -> str:
        """What a rank has written."""
        path = self._folder / f"rank-{rank}.log"
        return path.read_text() if path.exists() else ""


@pytest.fixture(params=["namespace", "subreaper"])
async def hosts(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Hosts]:
    """With and without PID namespaces."""
    died = asyncio.Event()
    nursery = await Nursery.start(on_death=died.set, force_subreaper=request.param == "subreaper")
    if nursery.mode != request.param:
        assert os.getuid() != 0, "a privileged account can use PID namespaces"
    hosts = Hosts(nursery, tmp_path)
    hosts.died = died
    yield hosts
    nursery.close()
    assert hosts.alive() == []


async def test_exit_codes_output_and_end_are_told(hosts: Hosts) -> None:
    """Each rank's own code, its output in its own file, and `gone` as the last word."""
    running = await hosts.start(("/bin/sh", "-c", "echo one; echo two >&2"), ("/bin/sh", "-c", "exit 7"))
    messages = await running.until_gone()
    assert messages[0] == {"started": [0, 1]}
    assert running.exits() == {0: 0, 1: 7}
    assert messages[-1] == {"gone": True}
    assert running.log(0) == "one\ntwo\n"
    assert len((hosts.folder / "exits").read_text().splitlines()) == 2


async def test_a_stop_ends_the_whole_tree_and_keeps_every_line(hosts: Hosts) -> None:
    """PC02: SIGTERM ignored, a child in a new session, a double-forked daemon; no line is lost."""
    running = await hosts.start((sys.executable, "-c", RUNAWAYS))
    await until(lambda: "10\n" in running.log() and len(hosts.alive()) == 4)
    running.link.send_stop(0.5)
    await until(lambda: "BYE-1" in running.log())
    started = time.monotonic()
    await running.until_gone()
    assert time.monotonic() - started < 2.0
    assert hosts.alive() == []
    assert running.exits() == {0: -signal.SIGKILL}
    numbers = [int(line) for line in running.log().splitlines() if line.isdigit()]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 25


async def test_what_the_main_process_leaves_behind_is_killed(hosts: Hosts) -> None:
    """A daemon does not keep the devices after the program has left."""
    running = await hosts.start(
        ("/bin/sh", "-c", "setsid sleep 600 & setsid sh -c 'sleep 600 & exit' ; exit 0")
    )
    await running.until_gone()
    assert running.exits() == {0: 0}
    assert hosts.alive() == []


async def test_a_polite_program_saves_within_the_grace(hosts: Hosts) -> None:
    """SIGTERM first; the program's own code counts."""
    save = (
        "import signal,sys,time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(3))\n"
        "print('up', flush=True)\ntime.sleep(600)"
    )
    running = await hosts.start((sys.executable, "-c", save))
    await until(lambda: "up" in running.log())
    running.link.send_stop(10.0)
    await running.until_gone()
    assert running.exits() == {0: 3}


async def test_a_program_below_a_shell_gets_its_grace(hosts: Hosts) -> None:
    """A shell dies of SIGTERM without passing it on; the program below it must still be able to save."""
    save = (
        "import signal,sys,time\n"
        "def save(*_):\n    time.sleep(0.3); print('saved', flush=True); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, save)\nprint('up', flush=True)\ntime.sleep(600)"
    )
    (hosts.folder / "save.py").write_text(save)
    running = await hosts.start(("/bin/sh", "-c", f"{sys.executable} save.py; echo never"))
    await until(lambda: "up" in running.log())
    running.link.send_stop(10.0)
    await running.until_gone()
    assert "saved" in running.log()


async def test_helpers_of_a_program_live_on_while_it_saves(hosts: Hosts) -> None:
    """SIGTERM goes to the program alone: a data loader that dies first would break the last step."""
    program = (
        "import os,signal,subprocess,sys,time\n"
        "helper = subprocess.Popen(['sleep', '600'])\n"
        "def save(*_):\n    time.sleep(0.2); print('helper', helper.poll(), flush=True); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, save)\nprint('up', flush=True)\ntime.sleep(600)"
    )
    running = await hosts.start((sys.executable, "-c", program))
    await until(lambda: "up" in running.log())
    running.link.send_stop(10.0)
    await running.until_gone()
    assert "helper None" in running.log()


async def test_a_repeated_stop_only_brings_the_end_nearer(hosts: Hosts) -> None:
    """A second, longer grace changes nothing; a shorter one does."""
    running = await hosts.start((sys.executable, "-c", RUNAWAYS))
    await until(lambda: "1\n" in running.log())
    running.link.send_stop(20.0)
    await until(lambda: "BYE-1" in running.log())
    running.link.send_stop(60.0)
    running.link.send_stop(0.1)
    await running.until_gone()
    assert running.log().count("BYE-1") == 1


@pytest.mark.parametrize(
    ("argv", "folder", "said"),
    [(("no-such-program",), None, "no-such-program"), (("true",), "/no/such/folder", "/no/such/folder")],
)
async def test_what_cannot_start_says_so_in_its_log(
    hosts: Hosts, argv: tuple[str, ...], folder: str | None, said: str
) -> None:
    """As a shell would: 127 and a line."""
    running = await hosts.start(argv, folder=folder)
    await running.until_gone()
    assert running.exits() == {0: 127}
    assert said in running.log() or "No such file" in running.log()


async def test_a_rank_sees_a_clean_world(hosts: Hosts) -> None:
    """Only its own variables, only three descriptors, default signals, itself in /proc."""
    look = (
        "import os,signal\n"
        "print(sorted(k for k in os.environ if k not in ('LC_CTYPE','PWD')))\n"
        "fds = os.listdir('/proc/self/fd')\n"
        "print(sorted(int(fd) for fd in fds if os.path.exists(f'/proc/self/fd/{fd}')))\n"
        "print(signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL, signal.pthread_sigmask(0, []))\n"
        "print(os.readlink('/proc/self') == str(os.getpid()))\n"
    )
    running = await hosts.start((sys.executable, "-c", look))
    await running.until_gone()
    variables, descriptors, signals, itself = running.log().splitlines()
    assert variables == "['MARK', 'ONLY', 'PATH']"
    assert descriptors == "[0, 1, 2]"
    assert signals == "True set()"
    assert itself == "True"


async def test_everything_dies_with_the_agent(hosts: Hosts) -> None:
    """The nursery's and the hosts' sockets close when the agent is killed: here we close them."""
    await hosts.start((sys.executable, "-c", RUNAWAYS))
    await until(lambda: len(hosts.alive()) == 4)
    hosts.nursery.close()
    await until(lambda: hosts.alive() == [])


async def test_everything_dies_with_the_host(hosts: Hosts) -> None:
    """A host killed by somebody leaves nothing; the nursery tells when nothing is left."""
    running = await hosts.start((sys.executable, "-c", RUNAWAYS))
    await until(lambda: len(hosts.alive()) == 4)
    (host,) = psutil.Process(hosts.nursery.pid).children()
    host.kill()
    await running.until_gone()
    assert {"gone": True} not in running.messages
    assert hosts.alive() == []


async def test_everything_dies_with_the_nursery(hosts: Hosts) -> None:
    """Then the agent is told too, and leaves."""
    await hosts.start((sys.executable, "-c", RUNAWAYS))
    await until(lambda: len(hosts.alive()) == 4)
    os.kill(hosts.nursery.pid, signal.SIGKILL)
    await asyncio.wait_for(hosts.died.wait(), 5)
    await until(lambda: hosts.alive() == [])


async def test_a_hundred_hosts_start_in_seconds(hosts: Hosts) -> None:
    """Forked, not exec'd: no interpreter starts."""
    started = time.monotonic()
    running = await asyncio.gather(*(hosts.start(("/bin/sh", "-c", "exit 0")) for _ in range(100)))
    await asyncio.gather(*(one.until_gone() for one in running))
    assert time.monotonic() - started < 15


def _mark(process: psutil.Process) -> str | None:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        mark: str | None = process.environ().get("MARK")
    except psutil.Error:
        return None
    return mark
