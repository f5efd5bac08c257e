"""`gangline clone`: submit a job again."""

import typer

from gangline.connection import connect
from gangline.jobs_shown import JOB_SHEET
from gangline.lookup import find_job_id
from gangline.parameters import JobReference
from gangline.render import Format, Output, emit


def command(ctx: typer.Context, *, job: JobReference, output: Output = Format.TABLE) -> None:
    """Submit a new job with the same document and code."""
    with connect(ctx) as portal:
        clone = portal.post(f"jobs/{find_job_id(portal, job)}/clone")
    emit(clone, output=output, columns=JOB_SHEET, name=lambda item: item["id"])
