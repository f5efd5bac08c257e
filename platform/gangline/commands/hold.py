"""`gangline hold`."""

import typer

from gangline.acting import act_on_jobs
from gangline.parameters import JobReferences
from gangline.render import Format, Output


def command(ctx: typer.Context, *, jobs: JobReferences, output: Output = Format.TABLE) -> None:
    """Take a job off its devices (after saving) or out of the queue, until it is released."""
    act_on_jobs(ctx, jobs, "hold", output)
