"""Arguments and options that several commands share, so that they read the same everywhere."""

from typing import Annotated

import typer

JobReference = Annotated[
    str,
    typer.Argument(
        metavar="JOB", help="The job's id, the beginning of its id, or its name.", show_default=False
    ),
]
JobReferences = Annotated[
    list[str],
    typer.Argument(metavar="JOB...", help="Ids, beginnings of ids, or names of jobs.", show_default=False),
]
