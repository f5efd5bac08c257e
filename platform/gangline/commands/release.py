"""`gangline release`."""

import typer

from gangline.acting import act_on_jobs
from gangline.parameters import JobReferences
from gangline.render import Format, Output


def command(ctx: typer.Context, *, jobs: JobReferences, output: Output = Format.TABLE) -> None:
    """Let a held job wait in its queue again."""
    act_on_jobs(ctx, jobs, "release", output)
