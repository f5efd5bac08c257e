"""The entry point of `gangline`: builds the app, turns what goes wrong into a message and an exit code."""

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.main import get_command

from gangline.commands import register
from gangline.connection import DEFAULT_PATIENCE_SECONDS
from gangline.errors import CommandError, ExitCode
from gangline.render import report
from gangline.words import localise, reads_chinese, say

HELP = """Submit training jobs to a Gangline platform and watch them.

Exit codes: 0 done, 1 the job failed, 2 bad usage, 3 refused by the portal, 4 portal not reachable,
130 detached by Ctrl-C.
"""

app = typer.Typer(
    name="gangline", help=HELP, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich"
)


@app.callback()
def options(
    ctx: typer.Context,
    wait: Annotated[
        float, typer.Option(min=0, help="Seconds to keep trying while the portal cannot be reached.")
    ] = DEFAULT_PATIENCE_SECONDS,
) -> None:
    """Options that come before the command."""
    ctx.obj = wait


register(app)


def main() -> None:
    """Run one command; never show a traceback unless `GANGLINE_DEBUG` asks for it."""
    try:
        _command()()
    except CommandError as error:
        report(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        report(CommandError(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"))
        sys.exit(ExitCode.BAD_USAGE)
    except Exception as error:  # the last resort of the command line: a message instead of a traceback
        if os.environ.get("GANGLINE_DEBUG"):
            raise
        report(
            CommandError(
                say("A defect of this program: {error}", error=f"{type(error).__name__}: {error}"),
                code="defect",
                todo=say("Run it again with GANGLINE_DEBUG=1 and report what it prints."),
            )
        )
        sys.exit(SOFTWARE_DEFECT)


def _command() -> Callable[[], Any]:
    """The app as one command, with its help in the reader's language."""
    command = get_command(app)
    if reads_chinese():
        localise(command)
    return command


SOFTWARE_DEFECT = 70  # EX_SOFTWARE of sysexits.h: none of the codes that scripts act on


if __name__ == "__main__":
    main()
