"""`gangline up`: the whole platform on this machine."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from gangline.checkout import find_checkout, server_environment, supervisor_command


def command(
    data_dir: Annotated[
        Path | None, typer.Option(help="Where all its state lives.", show_default=False)
    ] = None,
    port: Annotated[int | None, typer.Option(help="The portal's port.", show_default=False)] = None,
    seed: Annotated[
        str | None, typer.Option(help="`demo` fills it with two teams, queues and users.")
    ] = None,
) -> None:
    """Run the platform here: database, broker, portal, workers and a small Ray cluster. Ctrl-C stops it."""
    checkout = find_checkout(os.environ, Path.cwd())
    arguments = supervisor_command(data_dir=data_dir, port=port, seed=seed)
    sys.stdout.flush()
    os.chdir(checkout)
    os.execvpe(sys.executable, arguments, server_environment(checkout, os.environ))
