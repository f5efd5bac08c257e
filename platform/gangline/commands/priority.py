"""`gangline priority`: change how urgent a job is."""

from typing import Annotated

import typer

from gangline.connection import connect
from gangline.jobs_shown import JOB_SHEET
from gangline.lookup import find_job_id
from gangline.parameters import JobReference
from gangline.render import Format, Output, emit


def command(
    ctx: typer.Context,
    *,
    job: JobReference,
    priority: Annotated[
        str, typer.Argument(help="low, normal, high, urgent, or 0 to 1000.", show_default=False)
    ],
    output: Output = Format.TABLE,
) -> None:
    """Change a job's priority."""
    value = int(priority) if priority.isdigit() else priority
    with connect(ctx) as portal:
        changed = portal.patch(f"jobs/{find_job_id(portal, job)}", {"priority": value})
    emit(changed, output=output, columns=JOB_SHEET, name=lambda item: item["id"])
