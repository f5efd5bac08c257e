"""A job's way through its stages, from its row and its attempts: pure, so that it is the same on every page.

Four stages sum up where the time went; the journey has one stretch for each spell in a stage, in order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from jobs.models import TERMINAL, Attempt, Job

SMALLEST_SHARE = 0.8  # percent of the journey's width that every stretch gets, however short it was
STAGE_OF_STATE = {
    "queued": "queued",
    "held": "queued",
    "starting": "starting",
    "running": "running",
    "stopping": "running",
}
STAGE_NAMES: dict[str, str | Promise] = {
    "queued": _("Queued"),
    "starting": _("Starting"),
    "running": _("Running"),
    "ended": _("Ended"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """One spell in one stage. `x` and `width` are percent of the journey's width."""

    tone: str
    begin: datetime
    end: datetime
    attempt: int | None = None
    x: float = 0.0
    width: float = 0.0

    @property
    def length(self) -> timedelta:
        """How long it took."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One of the four steps: whether it was reached, whether the job is in it, and for how long in all."""

    name: str
    label: str | Promise
    is_reached: bool
    is_current: bool
    length: timedelta


def journey_of(job: Job, attempts: Sequence[Attempt], *, now: datetime) -> list[Stretch]:
    """The stretches from submission to the end, or to now; `attempts` by number."""
    end = job.finished_at or max(now, job.submitted_at)
    return _spread([stretch for stretch in _stretches(job, attempts, end) if stretch.end > stretch.begin])


def stages_of(job: Job, journey: Iterable[Stretch]) -> list[Stage]:
    """The four steps with what the journey spent in each."""
    spent = dict.fromkeys(STAGE_NAMES, timedelta())
    for stretch in journey:
        spent[STAGE_OF_STATE[stretch.tone]] += stretch.length
    current = "ended" if job.state in TERMINAL else STAGE_OF_STATE[job.state]
    return [
        Stage(
            name=name,
            label=label,
            is_reached=name in ("queued", current) or bool(spent[name]),
            is_current=name == current,
            length=spent[name],
        )
        for name, label in STAGE_NAMES.items()
    ]


def _stretches(job: Job, attempts: Sequence[Attempt], end: datetime) -> Iterable[Stretch]:
    waiting_since = job.submitted_at
    for attempt in attempts:
        yield Stretch(tone="queued", begin=waiting_since, end=attempt.ordered_at)
        yield from _attempt(attempt, end)
        waiting_since = attempt.ended_at or end
    waiting = "held" if job.state == "held" else "queued"
    if job.state not in TERMINAL or not attempts:
        yield Stretch(tone=waiting, begin=waiting_since, end=end)


def _attempt(attempt: Attempt, end: datetime) -> Iterable[Stretch]:
    left = attempt.ended_at or end
    stopped = min(attempt.stop_ordered_at or left, left)
    running = min(attempt.running_at or stopped, stopped)
    number = attempt.number
    yield Stretch(tone="starting", begin=attempt.ordered_at, end=running, attempt=number)
    yield Stretch(tone="running", begin=running, end=stopped, attempt=number)
    yield Stretch(tone="stopping", begin=stopped, end=left, attempt=number)


def _spread(stretches: list[Stretch]) -> list[Stretch]:
    """Give each stretch its place on a line from 0 to 100: by its length, but never too narrow to be seen."""
    total = sum((stretch.length for stretch in stretches), timedelta()) or timedelta(microseconds=1)
    shares = [max(SMALLEST_SHARE, 100 * (stretch.length / total)) for stretch in stretches]
    scale, x, placed = 100 / (sum(shares) or 1), 0.0, []
    for stretch, share in zip(stretches, shares, strict=True):
        width = share * scale
        placed.append(
            Stretch(
                tone=stretch.tone,
                begin=stretch.begin,
                end=stretch.end,
                attempt=stretch.attempt,
                x=round(x, 3),
                width=round(width, 3),
            )
        )
        x += width
    return placed
