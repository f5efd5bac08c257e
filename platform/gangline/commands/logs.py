"""`gangline logs`: what a job's workers print."""

import sys
from typing import Annotated

import typer

from gangline.connection import connect
from gangline.errors import BadUsage
from gangline.follow import Selection, follow_logs, print_logs
from gangline.log_printer import PlainPrinter, RankPrinter
from gangline.lookup import find_job_id
from gangline.parameters import JobReference
from gangline.watch import detach
from gangline.words import say

FOLLOW_PATIENCE_SECONDS = 3600.0


def command(
    ctx: typer.Context,
    *,
    job: JobReference,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until the job has ended.")] = False,
    rank: Annotated[
        str, typer.Option(help="A worker's rank, or `all` (each line then begins with its rank).")
    ] = "0",
    attempt: Annotated[
        int | None, typer.Option(min=1, help="By default the newest; -f goes on with later ones.")
    ] = None,
    tail: Annotated[
        int | None, typer.Option(min=0, help="Only the last so many lines of what is there.")
    ] = None,
) -> None:
    """Print the log of a job's worker. With -f no line is lost or repeated; Ctrl-C leaves the job alone."""
    selection = Selection(_ranks(rank), attempt, tail)
    with connect(ctx, patience_seconds=FOLLOW_PATIENCE_SECONDS if follow else None) as portal:
        job_id = find_job_id(portal, job)
        printer = PlainPrinter(sys.stdout) if selection.ranks else RankPrinter(sys.stdout)
        try:
            (follow_logs if follow else print_logs)(portal, job_id, printer, selection)
        except KeyboardInterrupt:
            raise detach(job_id) from None
        finally:
            printer.close()


def _ranks(text: str) -> tuple[int, ...]:
    if text == "all":
        return ()
    if not text.isdigit():
        raise BadUsage(
            say("“{text}” is not a rank.", text=text), todo=say("Give a number from 0 on, or `all`.")
        )
    return (int(text),)
