"""`gangline show`: one job with its attempts and what happened to it."""

from typing import Any

import typer

from gangline.connection import connect
from gangline.jobs_shown import JOB_SHEET
from gangline.lookup import find_job_id
from gangline.parameters import JobReference
from gangline.render import Column, Format, Output, console, emit, table
from gangline.units import moment
from gangline.words import say

Json = dict[str, Any]


def _end(attempt: Json) -> str:
    exit_code = attempt.get("exit_code")
    parts = [
        attempt.get("end_cause") or "",
        say("exit code {code}", code=exit_code) if exit_code else "",
        attempt.get("message") or "",
    ]
    return ", ".join(part for part in parts if part)


ATTEMPTS = (
    Column("ATTEMPT", lambda attempt: attempt["number"], right=True),
    Column("NODES", lambda attempt: ", ".join(sorted({slot["node"] for slot in attempt["placement"]}))),
    Column("STARTED", lambda attempt: moment(attempt.get("running_at"))),
    Column("ENDED", lambda attempt: moment(attempt.get("ended_at"))),
    Column("FROM STEP", lambda attempt: attempt.get("resumed_step"), right=True),
    Column("END", _end),
)
EVENTS = (
    Column("TIME", lambda event: moment(event["at"])),
    Column("EVENT", lambda event: event.get("text") or event["kind"]),
)


def command(ctx: typer.Context, *, job: JobReference, output: Output = Format.TABLE) -> None:
    """Show a job: its state, where it runs, its attempts and its history."""
    with connect(ctx) as portal:
        job_id = find_job_id(portal, job)
        shown = portal.get(f"jobs/{job_id}")
        shown["attempts"] = list(portal.pages(f"jobs/{job_id}/attempts"))
        shown["events"] = list(portal.pages(f"jobs/{job_id}/events"))
    emit(shown, output=output, columns=JOB_SHEET, name=lambda item: item["id"])
    if output is Format.TABLE:
        for rows, columns in ((shown["attempts"], ATTEMPTS), (shown["events"], EVENTS)):
            if rows:
                typer.echo()
                console().print(table(rows, columns))
