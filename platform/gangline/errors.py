"""What can go wrong for a user of the command line, each with its exit code and what to do next."""

from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """What a script can rely on. 130 (Ctrl-C: detached) is the shell's own convention."""

    DONE = 0
    JOB_FAILED = 1
    BAD_USAGE = 2
    REFUSED = 3
    NOT_REACHABLE = 4


@dataclass(frozen=True, slots=True)
class Detail:
    """One thing that is wrong: where, and what is allowed there."""

    path: str
    problem: str


class CommandError(Exception):
    """Ends a command. Shown as code, message, details and what to do; never as a traceback."""

    exit_code = ExitCode.BAD_USAGE

    def __init__(
        self, message: str, *, code: str = "bad_usage", details: tuple[Detail, ...] = (), todo: str = ""
    ) -> None:
        super().__init__(message)
        self.message, self.code, self.details, self.todo = message, code, details, todo


class BadUsage(CommandError):  # noqa: N818  # these three name what is told, not a defect
    """The command, a file or a name that was given cannot be used; nothing was sent."""


class Refused(CommandError):  # noqa: N818  # see above
    """The portal understood and said no."""

    exit_code = ExitCode.REFUSED

    def __init__(
        self, message: str, *, status: int, code: str, details: tuple[Detail, ...] = (), todo: str = ""
    ) -> None:
        super().__init__(message, code=code, details=details, todo=todo)
        self.status = status


class NotReachable(CommandError):  # noqa: N818  # see above
    """The portal did not answer, or not as a portal does."""

    exit_code = ExitCode.NOT_REACHABLE

    def __init__(self, message: str, *, todo: str = "") -> None:
        super().__init__(message, code="not_reachable", todo=todo)
