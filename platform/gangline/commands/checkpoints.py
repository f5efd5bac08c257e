"""`gangline checkpoints`: what a job has saved."""

import typer

from gangline.connection import connect
from gangline.lookup import find_job_id
from gangline.parameters import JobReference
from gangline.render import Column, Format, Output, emit
from gangline.units import moment, size

group = typer.Typer(help="Checkpoints of jobs.", no_args_is_help=True)

COLUMNS = (
    Column("ID", lambda item: item["id"]),
    Column("STEP", lambda item: item["step"], right=True),
    Column("STATE", lambda item: item["state"]),
    Column("SIZE", lambda item: size(item.get("size_bytes")), right=True),
    Column("SAVED", lambda item: moment(item.get("saved_at"))),
    Column("PROBLEM", lambda item: item.get("problem")),
)


@group.command("list")
def list_checkpoints(ctx: typer.Context, *, job: JobReference, output: Output = Format.TABLE) -> None:
    """List a job's checkpoints. Another job starts from one with `checkpoint: {from: ID}`."""
    with connect(ctx) as portal:
        found = list(portal.pages(f"jobs/{find_job_id(portal, job)}/checkpoints"))
    emit(found, output=output, columns=COLUMNS, name=lambda item: item["id"])
