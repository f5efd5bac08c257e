"""`gangline submit`: send a job, with its code, and look on if wanted."""

import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gangline.archive import pack
from gangline.commands.validate import tell_prediction
from gangline.connection import connect
from gangline.jobfile import JobFile, read_job
from gangline.jobs_shown import JOB_SHEET, result
from gangline.render import Format, Output, emit
from gangline.sight import Sight
from gangline.units import plain
from gangline.watch import detach, exit_code, watch_job
from gangline.words import say

if TYPE_CHECKING:
    from gangline.client import Portal

Json = dict[str, Any]
WATCH_PATIENCE_SECONDS = 3600.0
LAST_LINES = 10


def command(
    ctx: typer.Context,
    *,
    pairs: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Values laid over those of the file.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="A job file (YAML or JSON); `-` is stdin.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Show the progress; end as the job ends.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the job and predict its start; submit nothing.")
    ] = False,
    key: Annotated[
        str | None, typer.Option(help="Submission key: the same key and job is one job, however often.")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Submit a job. For example: gangline submit name=first queue=research run="python train.py" """
    job_file = read_job(file, pairs or [])
    with connect(ctx) as portal:
        if dry_run:
            tell_prediction(portal.post("jobs/validate", job_file.document), output)
            return
        job = send(portal, job_file, key or str(uuid.uuid4()))
    emit(job, output=output, columns=JOB_SHEET, name=lambda item: item["id"])
    if output is Format.TABLE and not watch:
        _tell_next(job)
    if watch:
        _watch(ctx, job=job)


def send(portal: "Portal", job_file: JobFile, key: str) -> Json:
    """Submit, once however often it is tried, and with the code folder packed on the way."""
    job: Json
    if job_file.code is None:
        job = portal.post("jobs", job_file.document, key=key)
        return job
    with tempfile.TemporaryDirectory(prefix="gangline-") as folder:
        archive = job_file.code
        if archive.is_dir():
            archive = Path(folder) / "code.tar.gz"
            pack(job_file.code, archive)
        job = portal.post_archive("jobs", job_file.document, archive, key=key)
    return job


def _tell_next(job: Json) -> None:
    typer.echo(f"\n{say('Next:')} gangline logs -f {job['id']}")
    typer.echo(f"{say('Why does it wait?')} gangline explain {job['id']}")


def _watch(ctx: typer.Context, *, job: Json) -> None:
    try:
        with connect(ctx, patience_seconds=WATCH_PATIENCE_SECONDS) as portal:
            sight = watch_job(portal, job["id"])
    except KeyboardInterrupt:
        raise detach(job["id"]) from None
    _tell_end(sight)
    raise typer.Exit(exit_code(sight))


def _tell_end(sight: Sight) -> None:
    parts = [part for part in (sight.state, sight.remark, result(sight.job)) if part]
    typer.echo(f"{sight.name}: {', '.join(parts)}")
    if sight.state == "failed":
        for line in ((sight.job.get("attempt") or {}).get("last_lines") or [])[-LAST_LINES:]:
            typer.echo(f"  {plain(line)}")
