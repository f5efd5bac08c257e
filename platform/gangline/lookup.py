"""Finds the one job that a user means: by id, by the beginning of its id, or by its name."""

import uuid
from typing import TYPE_CHECKING, Any

from gangline.errors import BadUsage, Detail, Refused
from gangline.units import moment, plain
from gangline.words import say

if TYPE_CHECKING:
    from gangline.client import Portal

Json = dict[str, Any]
SHORTEST_PREFIX = 4


def find_job_id(portal: "Portal", reference: str) -> str:
    """The id of the job meant. Several that fit are listed and none is taken."""
    if _is_id(reference):
        return str(uuid.UUID(reference))
    found = list(portal.pages("jobs", search=reference))
    fitting = [job for job in found if job["name"] == reference]
    if len(reference) >= SHORTEST_PREFIX:
        fitting += [job for job in found if job["id"].startswith(reference.lower()) and job not in fitting]
    if len(fitting) == 1:
        return str(fitting[0]["id"])
    if not fitting:
        raise Refused(
            say("No job is named “{name}” or has an id that begins so.", name=reference),
            status=404,
            code="not_found",
            todo=say("See what there is with `gangline ps -a`."),
        )
    raise BadUsage(
        say("“{name}” fits {count} jobs; nothing was done.", name=reference, count=len(fitting)),
        code="ambiguous",
        details=tuple(Detail(job["id"], _described(job)) for job in fitting),
        todo=say("Give the id of the one you mean."),
    )


def _is_id(reference: str) -> bool:
    try:
        return str(uuid.UUID(reference)) == reference.lower()
    except ValueError:
        return False


def _described(job: Json) -> str:
    return say(
        "{name} ({state}, submitted {at})",
        name=plain(job["name"]),
        state=job["state"],
        at=moment(job["submitted_at"]),
    )
