"""When a checkpoint is due: every so many steps, every so many seconds, or as often as pays (`auto`)."""

import math
import re
from dataclasses import dataclass

# What `auto` assumes: Llama 3's 16,384 GPUs met 419 unexpected interruptions in 54 days (Grattafiori 2024,
# table 5), 0.0005 for each GPU and day; doubled, since most clusters are looked after less well.
FAILURES_PER_WORKER_DAY = 0.001
_FIRST_SECONDS = 10.0  # the first save measures its own cost, so it cannot wait for the formula
_SHORTEST_SECONDS = 5.0
_LONGEST_SECONDS = 900.0
_DAY = 86_400.0
_EVERY = re.compile(r"(\d+(?:\.\d+)?)\s*(steps?|s|m|h)\Z")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Every:
    """At most one is set; neither means `auto`."""

    steps: int | None = None
    seconds: float | None = None


def parse_every(text: str) -> Every:
    """`"20 steps"`, `"90s"`, `"5m"` or `"auto"`; raises `ValueError` for anything else."""
    if text == "auto":
        return Every()
    found = _EVERY.match(text.strip())
    if found is None or float(found[1]) <= 0:
        raise ValueError(f"a checkpoint interval is “20 steps”, “90s”, “5m” or “auto”, not {text!r}")
    if found[2].startswith("step"):
        return Every(steps=max(1, int(float(found[1]))))
    return Every(seconds=float(found[1]) * _SECONDS[found[2]])


def young_seconds(*, cost: float, mean_between_failures: float) -> float:
    """The interval that loses least time: sqrt(2 * cost * MTBF), all in seconds (Young 1974)."""
    return math.sqrt(2 * cost * mean_between_failures)


class Cadence:
    """Answers "now?" on one rank, which then tells the others. Times are of one monotonic clock."""

    def __init__(self, every: Every, *, workers: int, now: float, step: int) -> None:
        self._every = every
        self._mean_between_failures = _DAY / (FAILURES_PER_WORKER_DAY * workers)
        self._saved_at = now
        self._saved_step = step
        self._seconds = every.seconds if every.seconds is not None else _FIRST_SECONDS

    @property
    def interval_seconds(self) -> float:
        """The interval in force, when it is one of time."""
        return self._seconds

    def due(self, step: int, now: float) -> bool:
        """Whether to save after `step` steps."""
        if self._every.steps is not None:
            return step // self._every.steps > self._saved_step // self._every.steps
        return now - self._saved_at >= self._seconds

    def started(self, step: int, now: float) -> None:
        """A save has begun."""
        self._saved_step = step
        self._saved_at = now

    def cost(self, seconds: float) -> None:
        """What the last save cost the training, in seconds of stall and slowdown: sets `auto`'s interval."""
        if self._every == Every():
            young = young_seconds(cost=seconds, mean_between_failures=self._mean_between_failures)
            self._seconds = min(_LONGEST_SECONDS, max(_SHORTEST_SECONDS, young))
