"""`gangline simulate`: what would happen if this job were submitted, or nodes were gone."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gangline.connection import connect
from gangline.errors import BadUsage
from gangline.jobfile import read_job
from gangline.render import Column, Format, Output, emit
from gangline.words import mark, say

Json = dict[str, Any]
COLUMNS = (
    Column("WHAT", lambda row: row["what"]),
    Column("JOB", lambda row: row["job"]),
    Column("DETAILS", lambda row: row["details"]),
)


def command(
    ctx: typer.Context,
    *,
    pairs: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Values laid over those of the file.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="A job file (YAML or JSON); `-` is stdin.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without-node", help="Suppose that this node is gone.")
    ] = None,
    cordoned: Annotated[
        list[str] | None, typer.Option("--cordon-node", help="Suppose that this node takes nothing new.")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Tell what would start, wait or have to leave; nothing is changed."""
    jobs = [read_job(file, pairs or []).document] if file or pairs else []
    if not (jobs or without or cordoned):
        raise BadUsage(say("Nothing to suppose was given."), todo=say("Give a job, or --without-node."))
    question = {"jobs": jobs, "remove_nodes": without or [], "cordon_nodes": cordoned or []}
    with connect(ctx) as portal:
        answer = portal.post("simulate", question)
    if output is not Format.TABLE:
        emit(answer, output=output, columns=(), name=lambda _: "simulated")
        return
    rows = list(_rows(answer))
    if rows:
        emit(rows, output=output, columns=COLUMNS, name=lambda row: row["job"])
    else:
        typer.echo(say("Nothing would change."))


def _rows(answer: Json) -> list[Json]:
    rows = [_row(_fate(job), say("the job supposed"), job) for job in answer["jobs"]]
    for key, what in (
        ("evicted", mark("would have to leave")),
        ("interrupted", mark("would lose a node")),
        ("starts", mark("would start")),
        ("waits", mark("would wait")),
    ):
        rows += [_row(say(what), job["name"] or say("another team's job"), job) for job in answer[key]]
    return rows


def _fate(job: Json) -> str:
    return say("would start") if job["starts_now"] else say("would wait")


def _row(what: str, job: str, found: Json) -> Json:
    """What becomes of one job, with why and until when."""
    texts = [(found.get(key) or {}).get("text", "") for key in ("reason", "eta")]
    return {"what": what, "job": job, "details": " ".join(text for text in texts if text)}
