"""The entry point of `gangline`: builds the app, turns what goes wrong into a message and an exit code."""

import os
import sys
from typing import Annotated

import typer

from gangline.commands import register
from gangline.connection import DEFAULT_PATIENCE_SECONDS
from gangline.errors import CommandError, ExitCode
from gangline.render import report

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
        app()
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
                f"A defect of this program: {type(error).__name__}: {error}", code="defect", todo=DEFECT
            )
        )
        sys.exit(SOFTWARE_DEFECT)


SOFTWARE_DEFECT = 70  # EX_SOFTWARE of sysexits.h: none of the codes that scripts act on
DEFECT = "Run it again with GANGLINE_DEBUG=1 and report what it prints."


if __name__ == "__main__":
    main()
