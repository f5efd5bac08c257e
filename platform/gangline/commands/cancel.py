"""`gangline cancel`."""

import typer

from gangline.acting import act_on_jobs
from gangline.parameters import JobReferences
from gangline.render import Format, Output


def command(ctx: typer.Context, *, jobs: JobReferences, output: Output = Format.TABLE) -> None:
    """Stop a job for good. It may save and leave within its grace period."""
    act_on_jobs(ctx, jobs, "cancel", output)
