"""`gangline explain`: why does this job wait?"""

from typing import Any

import typer

from gangline.connection import connect
from gangline.lookup import find_job_id
from gangline.parameters import JobReference
from gangline.render import Column, Format, Output, emit
from gangline.units import amount
from gangline.words import mark, say

Json = dict[str, Any]


def _queue(answer: Json) -> str:
    queue = answer.get("queue")
    if not queue:
        return ""
    limit = say("none") if queue.get("limit") is None else amount(queue["limit"])
    used, guarantee = amount(queue["used"]), amount(queue["guarantee"])
    template = mark("{path}: {used} used, guarantee {guarantee}, limit {limit}")
    return say(template, path=queue["path"], used=used, guarantee=guarantee, limit=limit)


COLUMNS = (
    Column("State", lambda answer: answer["state"]),
    Column("Why", lambda answer: (answer.get("reason") or {}).get("text") or say("It waits for nothing.")),
    Column("What helps", lambda answer: (answer.get("reason") or {}).get("help")),
    Column("When", lambda answer: (answer.get("eta") or {}).get("text")),
    Column("Jobs ahead", lambda answer: answer.get("ahead")),
    Column("Queue", _queue),
)


def command(ctx: typer.Context, *, job: JobReference, output: Output = Format.TABLE) -> None:
    """Tell why a job waits, in numbers, and what would help."""
    with connect(ctx) as portal:
        answer = portal.get(f"jobs/{find_job_id(portal, job)}/explain")
    emit(answer, output=output, columns=COLUMNS, name=lambda item: (item.get("reason") or {}).get("code"))
