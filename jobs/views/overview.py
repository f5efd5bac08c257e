"""What the overview of a job shows beside its log and its curve."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from eventlog.models import Event
from jobs.explain import cause_label
from jobs.explain_times import eta_sentence, moment_of
from jobs.models import TERMINAL, Attempt, Job
from jobs.rendering import job_reason
from jobs.selectors import ahead_of
from jobs.views.metric_pages import figures
from jobs.views.stages import journey_of, stages_of

# The events with which an attempt's end is told; they carry why, and the facts.
ENDINGS = ("requeued", "held", "succeeded", "failed", "cancelled")


Places = tuple[tuple[str, tuple[int, ...]], ...]  # node, devices on it


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """An attempt with its places, and why it ended."""

    attempt: Attempt
    nodes: Places
    why: str


def overview(job: Job, attempts: Sequence[Attempt], *, now: datetime) -> dict[str, Any]:
    """The parts that change while one looks: stages, why it waits, figures, attempts."""
    journey = journey_of(job, attempts, now=now)
    endings = _endings(job)
    rows = [_row(attempt, endings.get(attempt.id)) for attempt in reversed(attempts)]
    return {
        "journey": journey,
        "stages": stages_of(job, journey),
        **_standing(job, attempts, now=now),
        "figures": figures(job),
        "attempt_rows": rows,
        "interruptions": [row for row in reversed(rows) if _was_interrupted(row, job)],
    }


def _standing(job: Job, attempts: Sequence[Attempt], *, now: datetime) -> dict[str, Any]:
    """Why it is where it is: why it waits (with who is before it), leaves, was set aside or ended."""
    last = attempts[-1] if attempts else None
    reason = job_reason(job, last, now=now)
    if job.state == "queued":
        return {"why": reason, "ahead": ahead_of(job) if reason else 0, "planned": _planned(job)}
    if job.state == "succeeded":
        return {"outcome": {"text": _("Its work is complete.")}}
    return {"outcome": reason, "last_lines": last.last_lines if last and job.state == "failed" else []}


def _planned(job: Job) -> dict[str, Any]:
    """When it is expected to start, and what the plan holds for it: devices now, a place at a later time."""
    reserved = job.reserved
    return {
        "eta": eta_sentence(job.eta) if job.eta else "",
        "kept": _places(job.kept),
        "reserved": _places(reserved["placement"]) if reserved else (),
        "reserved_at": moment_of(reserved["starts_at_ms"]) if reserved else None,
        "needs": list(job.dependencies.order_by("on__submitted_at").select_related("on")),
    }


def _places(placement: Sequence[Mapping[str, Any]]) -> Places:
    """Node by node, the devices of a stored placement."""
    places: dict[str, list[int]] = {}
    for worker in placement:
        places.setdefault(worker["node"], []).extend(worker["devices"])
    return tuple((node, tuple(sorted(devices))) for node, devices in sorted(places.items()))


def _endings(job: Job) -> Mapping[UUID | None, Event]:
    found = Event.objects.filter(job_id=job.id, kind__in=ENDINGS, attempt_id__isnull=False).order_by("seq")
    return {event.attempt_id: event for event in found}


def _row(attempt: Attempt, ending: Event | None) -> AttemptRow:
    cause = ending.cause if ending else attempt.end_cause
    return AttemptRow(
        attempt=attempt,
        nodes=_places(attempt.placement),
        why=cause_label(cause) if cause and attempt.ended_at else "",
    )


def _was_interrupted(row: AttemptRow, job: Job) -> bool:
    """Whether the job had to wait or start again after it."""
    is_last = row.attempt.number == job.num_attempts
    return row.attempt.ended_at is not None and not (is_last and job.state in TERMINAL)
