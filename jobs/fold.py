"""A job's row from its events: what the log alone says about where it stands. Pure; used to check the two."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from eventlog.models import Event
from jobs.lifecycle import TERMINAL, State

# Events that carry the job's standing after a change of state.
_STANDING = ("state", "intent", "version", "retries_used", "node_retries_used", "num_attempts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The columns of a job that its events determine."""

    state: str = ""
    intent: str = ""
    cause: str = ""
    changed_by_id: int | None = None
    version: int = 0
    event_seq: int = 0
    num_attempts: int = 0
    retries_used: int = 0
    node_retries_used: int = 0
    priority: int = 0
    not_before: datetime | None = None
    submitted_at: datetime | None = None
    changed_at: datetime | None = None
    first_started_at: datetime | None = None
    finished_at: datetime | None = None
    deleted_at: datetime | None = None


def fold(events: Iterable[Event]) -> Standing:
    """Where the job stands after these events, which are all of its events in order."""
    standing = Standing()
    for event in events:
        standing = _after(standing, event)
    return standing


def _after(standing: Standing, event: Event) -> Standing:
    changes: dict[str, Any] = {"event_seq": event.seq}
    changes |= {name: event.data[name] for name in ("priority", "version") if name in event.data}
    if "state" in event.data:
        changes |= _state_change(standing, event)
    if event.kind == "submitted":
        changes["submitted_at"] = event.at
    if event.kind == "deleted":
        changes["deleted_at"] = event.at
    return replace(standing, **changes)


def _state_change(standing: Standing, event: Event) -> dict[str, Any]:
    data = event.data
    not_before = data.get("not_before")
    started = standing.first_started_at or (event.at if event.kind == "started" else None)
    return {
        **{name: data[name] for name in _STANDING if name in data},
        "cause": event.cause,
        "changed_by_id": event.actor_id,
        "changed_at": event.at,
        "not_before": datetime.fromisoformat(not_before) if not_before else None,
        "first_started_at": started,
        "finished_at": event.at if State(data["state"]) in TERMINAL else None,
    }
