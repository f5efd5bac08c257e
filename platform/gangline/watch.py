"""Looks on until a job has ended. Only looks: Ctrl-C leaves the job alone."""

import time
from typing import TYPE_CHECKING

import typer

from gangline.errors import ExitCode
from gangline.sight import Sight, look
from gangline.words import say

if TYPE_CHECKING:
    from gangline.client import Portal

POLL_SECONDS = 0.5
DETACHED = 130  # what shells give for Ctrl-C


def watch_job(portal: "Portal", job_id: str) -> Sight:
    """Show the job's progress until it has ended, over any number of the portal's restarts."""
    from gangline.board import open_board

    with open_board() as board:
        while True:
            sight = look(portal, job_id)
            board.show([sight])
            if sight.is_ended:
                return sight
            time.sleep(POLL_SECONDS)


def detach(job_id: str) -> typer.Exit:
    """What Ctrl-C means while watching: say that the job goes on, and how to look again."""
    typer.echo(
        "\n" + say("Detached; the job goes on. Look again with `gangline logs -f {id}`.", id=job_id), err=True
    )
    return typer.Exit(DETACHED)


def exit_code(sight: Sight) -> ExitCode:
    """0 only for a job that succeeded."""
    return ExitCode.DONE if sight.state == "succeeded" else ExitCode.JOB_FAILED
