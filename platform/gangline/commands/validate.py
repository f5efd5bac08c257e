"""`gangline validate`: is this job right, and when would it start?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from gangline.connection import connect
from gangline.errors import Detail, Refused
from gangline.jobfile import read_job
from gangline.render import Format, Output, emit
from gangline.units import moment, plain
from gangline.words import say

Json = dict[str, Any]


def command(
    ctx: typer.Context,
    *,
    pairs: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Values laid over those of the file.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="A job file (YAML or JSON); `-` is stdin.")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Check a job without submitting it: every mistake at once, and the predicted start."""
    job_file = read_job(file, pairs or [])
    with connect(ctx) as portal:
        answer = portal.post("jobs/validate", job_file.document)
    tell_prediction(answer, output)


def tell_prediction(answer: Json, output: Format) -> None:
    """Print what the portal predicts for a valid job; an invalid one is a refusal with all its details."""
    if not answer["valid"]:
        details = tuple(Detail(item["path"], item["problem"]) for item in answer["details"])
        raise Refused(say("The job is not valid."), status=422, code="invalid", details=details)
    if output is Format.TABLE:
        typer.echo(_prediction(answer.get("predicted") or {}))
    else:
        emit(answer, output=output, columns=(), name=lambda _: "valid")


def _prediction(predicted: Json) -> str:
    if predicted.get("starts_now"):
        return say("Valid. It would start at once.")
    reason = predicted.get("reason") or {}
    why = plain(reason.get("text") or reason.get("code") or "")
    when = predicted.get("predicted_start")
    start = (
        say("Valid. It would start about {time}.", time=moment(when))
        if when
        else say("Valid. It would wait; its start cannot be predicted.")
    )
    return f"{start} {why}".rstrip()
