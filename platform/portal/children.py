"""One child process of the supervisor: started, watched, restarted with growing pauses, stopped, never left.

A child is killed by the kernel when the supervisor dies (PDEATHSIG), leads its own session so that what it
started ends with it, and writes through the supervisor: to its log file, and prefixed to the terminal.
"""

import asyncio
import contextlib
import ctypes
import os
import signal
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TextIO

from portal.sessions import Keeper, kill_session

PR_SET_PDEATHSIG = 1
LONGEST_LOG_BYTES = 16 * 2**20
KEPT_LINES = 40
POLL_SECONDS = 0.1
HELD_POLL_SECONDS = 0.2
FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 15.0
STEADY_SECONDS = 60.0  # a child that ran this long starts again with the first pause

_libc = ctypes.CDLL(None, use_errno=True)


class Account(NamedTuple):
    """Whom a child runs as."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is run: arguments, the whole environment, the account (None: ours) and the working folder."""

    argv: tuple[str, ...]
    environ: Mapping[str, str]
    account: Account | None = None
    folder: Path | None = None


class StartError(Exception):
    """A child did not become ready; the message has its last lines."""


Probe = Callable[["Child"], Awaitable[bool]]


@dataclass(slots=True)
class Child:
    """A named child. `probe` says whether it does its work; while the file `held` exists it stays down."""

    name: str
    build: Callable[[], Command]  # called at every start
    probe: Probe
    log_dir: Path
    held: Path
    show: Callable[[str, str], None]
    changed: Callable[[], None]
    keeper: Keeper
    stop_signal: signal.Signals = signal.SIGTERM
    death_signal: signal.Signals = signal.SIGKILL
    stop_seconds: float = 10.0
    ready_seconds: float = 90.0
    num_tries: int = 1  # of the first start; what ends later is always started again
    pid: int | None = None
    started_at: float = 0.0
    num_starts: int = 0
    ready: bool = False
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_LINES))
    _process: asyncio.subprocess.Process | None = None
    _reader: asyncio.Task[None] | None = None
    _keeper: asyncio.Task[None] | None = None
    _stopping: bool = False

    async def start(self) -> None:
        """Start it, wait until it does its work, and keep it running from then on."""
        for num_left in reversed(range(self.num_tries)):
            await self._spawn()
            try:
                await self._wait_ready()
                break
            except StartError as error:
                if not num_left:
                    raise
                self.show(self.name, f"{str(error).splitlines()[0]}; starting it again")
                await self._end()
        self._keeper = asyncio.create_task(self._keep(), name=f"keep {self.name}")

    async def stop(self) -> None:
        """Ask it to stop, then end whatever is left of its session."""
        self._stopping = True
        if self._keeper:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        await self._end()

    async def _spawn(self) -> None:
        command = self.build()
        keywords: dict[str, object] = {}
        if command.account:
            keywords = {"user": command.account.uid, "group": command.account.gid, "extra_groups": []}
        self.lines.clear()
        self._process = await asyncio.create_subprocess_exec(
            *command.argv,
            env=dict(command.environ),
            cwd=command.folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with(os.getpid(), self.death_signal),
            limit=2**16,
            **keywords,  # type: ignore[arg-type]  # user, group, extra_groups
        )
        self.pid, self.started_at, self.ready = self._process.pid, time.time(), False
        self.keeper.add(self._process.pid)
        self.num_starts += 1
        self._reader = asyncio.create_task(self._read(self._process), name=f"read {self.name}")
        self.changed()

    async def _wait_ready(self) -> None:
        assert self._process is not None
        ends_at = time.monotonic() + self.ready_seconds
        while not await self.probe(self):
            if self._process.returncode is not None:
                raise StartError(self._told(f"{self.name} ended with code {self._process.returncode}"))
            if time.monotonic() > ends_at:
                raise StartError(self._told(f"{self.name} was not ready within {self.ready_seconds:.0f} s"))
            await asyncio.sleep(POLL_SECONDS)
        self.ready = True
        self.changed()

    async def _keep(self) -> None:
        """Start it again whenever it ends."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            assert self._process is not None
            code = await self._process.wait()
            await self._end()
            self.show(self.name, f"ended with code {code}; starting it again")
            if time.time() - self.started_at > STEADY_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
            while self.held.exists():
                await asyncio.sleep(HELD_POLL_SECONDS)
            await self._spawn()
            try:
                await self._wait_ready()
            except StartError as error:
                self.show(self.name, str(error))

    async def _end(self) -> None:
        """Stop the process if it runs, then kill what is left of its session; wait for its output's end."""
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            process.send_signal(self.stop_signal)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), self.stop_seconds)
        kill_session(process.pid)
        await process.wait()
        self.keeper.remove(process.pid)
        if self._reader:
            await asyncio.wait([self._reader], timeout=1)
            self._reader.cancel()
        self.pid, self.ready = None, False
        self.changed()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        with self._log() as log:
            while True:
                try:
                    raw = await process.stdout.readline()
                except ValueError:  # a line beyond the limit: it is dropped, the child must not block on us
                    continue
                if not raw:
                    return
                line = raw.decode(errors="replace").rstrip()
                self.lines.append(line)
                log.write(line + "\n")
                self.show(self.name, line)

    def _log(self) -> TextIO:
        path = self.log_dir / f"{self.name}.log"
        if path.exists() and path.stat().st_size > LONGEST_LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
        return path.open("a", buffering=1)

    def _told(self, what: str) -> str:
        said = "\n".join(f"    {line}" for line in list(self.lines)[-15:])
        return f"{what}. It said (all of it is in {self.log_dir / self.name}.log):\n{said or '    nothing'}"


def die_with(parent: int, death_signal: signal.Signals) -> Callable[[], None]:
    """Runs in the new process before exec: the kernel is to signal it when the supervisor is gone."""

    def prepare() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, int(death_signal))
        if os.getppid() != parent:  # it was gone before the kernel knew
            os._exit(1)

    return prepare


async def run_once(name: str, command: Command, *, log_dir: Path, seconds: float = 180.0) -> None:
    """Run to the end; `StartError` with what it said unless it ends well."""
    process = await asyncio.create_subprocess_exec(
        *command.argv,
        env=dict(command.environ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=die_with(os.getpid(), signal.SIGKILL),
    )
    try:
        said, _nothing = await asyncio.wait_for(process.communicate(), seconds)
    finally:
        kill_session(process.pid)
    log = log_dir / f"{name}.log"
    log.write_bytes(said)
    if process.returncode:
        last = said.decode(errors="replace").splitlines()[-25:]
        raise StartError("\n    ".join([f"{name} failed with code {process.returncode} ({log}):", *last]))
