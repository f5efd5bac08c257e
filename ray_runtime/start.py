"""How one rank becomes a process. `start_rank` is the only way; a zygote may later serve the same interface.

Standard library only: it runs in the rank host.
"""

import os
import resource
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ray_runtime import linux

CANNOT_START = 127  # the shell's own code for a command that is not there


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPlan:
    """One rank's program: what to run, where, with which environment, and the file that takes its output."""

    rank: int
    argv: tuple[str, ...]
    environ: Mapping[str, str]
    folder: str
    log: str

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """From the JSON form of `dataclasses.asdict`."""
        return cls(**{**data, "argv": tuple(data["argv"])})


def start_rank(plan: RankPlan) -> int:
    """Fork and exec one rank in a session of its own; returns its PID. Call from a single-threaded process.

    What cannot be started says so in its own log and leaves with 127, exactly as a shell would.
    """
    # A SIGTERM between fork and exec would run our handler in the child and be lost: it must wait.
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        return pid
    try:
        _become(plan)
    except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
        sys.stderr.write(f"gangline: cannot start rank {plan.rank}: {error}\n")
        sys.stderr.flush()
    finally:
        os._exit(CANNOT_START)


def _become(plan: RankPlan) -> None:
    os.setsid()
    linux.set_parent_death_signal(signal.SIGKILL)
    _redirect(plan.log)
    _restore_signals()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    os.chdir(plan.folder)
    os.execvpe(plan.argv[0], plan.argv, dict(plan.environ))


def _redirect(log: str) -> None:
    """Output goes straight into a file: no pipe that could fill, nothing to lose when somebody is killed."""
    Path(log).touch(mode=0o600)
    output = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, 1 << 20)


def _restore_signals() -> None:
    for number in (
        signal.SIGPIPE,
        signal.SIGCHLD,
        signal.SIGTERM,
        signal.SIGINT,
        signal.SIGHUP,
        signal.SIGXFSZ,
    ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
