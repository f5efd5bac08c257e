"""Orders that are the same for several jobs: find all of them first, then act on each."""

from collections.abc import Sequence

import typer

from gangline.connection import connect
from gangline.jobs_shown import JOB_TABLE
from gangline.lookup import find_job_id
from gangline.render import Format, emit
from gangline.units import plain


def act_on_jobs(ctx: typer.Context, references: Sequence[str], verb: str, output: Format) -> None:
    """Order `verb` for each job. One reference that is wrong or fits several jobs: nothing is done."""
    with connect(ctx) as portal:
        job_ids = list(dict.fromkeys(find_job_id(portal, reference) for reference in references))
        jobs = [portal.post(f"jobs/{job_id}/{verb}") for job_id in job_ids]
    emit(jobs, output=output, columns=JOB_TABLE, name=lambda job: job["id"])
    for job in jobs:
        if job.get("notice"):
            typer.echo(plain(f"{job['name']}: {job['notice']}"), err=True)
