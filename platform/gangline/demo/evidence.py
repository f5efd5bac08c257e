"""What the platform's records say about a job afterwards, read through the public API."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gangline.client import Portal

Json = dict[str, Any]
MOST_POINTS = 10_000  # of one answer: more than the demo's jobs have steps


@dataclass(frozen=True, slots=True)
class Point:
    """The loss after a step, and when it was reported."""

    step: int
    loss: float
    at: datetime


@dataclass(frozen=True, slots=True)
class Record:
    """A job with everything that is on record about it, oldest first."""

    job: Json
    attempts: tuple[Json, ...]
    events: tuple[Json, ...]
    checkpoints: tuple[Json, ...]
    losses: tuple[Point, ...]

    def stops(self, cause: str) -> tuple[Json, ...]:
        """The events by which the job was told to leave for this cause."""
        return tuple(
            event for event in self.events if event["cause"] == cause and event["kind"] == STOP_EVENT
        )

    def saved_steps(self) -> frozenset[int]:
        """The steps of its whole checkpoints, also of those that retention has removed since."""
        return frozenset(item["step"] for item in self.checkpoints if item["state"] != "damaged")


STOP_EVENT = "stop_ordered"


def read_record(portal: "Portal", job_id: str) -> Record:
    """Everything on record about a job."""
    job = portal.get(f"jobs/{job_id}")
    series = portal.get(f"jobs/{job_id}/metrics", names="loss", max_points=MOST_POINTS)["series"].get(
        "loss", []
    )
    return Record(
        job=job,
        attempts=_sorted(portal, f"jobs/{job_id}/attempts", "number"),
        events=_sorted(portal, f"jobs/{job_id}/events", "seq"),
        checkpoints=_sorted(portal, f"jobs/{job_id}/checkpoints", "step"),
        losses=tuple(
            Point(step, loss, datetime.fromtimestamp(at_ms / 1000).astimezone())
            for step, loss, at_ms in series
        ),
    )


def _sorted(portal: "Portal", path: str, key: str) -> tuple[Json, ...]:
    return tuple(sorted(portal.pages(path), key=lambda item: item[key]))
