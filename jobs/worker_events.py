"""Lines of a worker's events stream into facts. Written by user code, so nothing is believed. Pure."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from jobs.wire import LARGEST, storable
from ray_runtime.protocol import WorkerEvent

LONGEST_LINE = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One line that could be read. Which of the fields mean something is said by `kind`."""

    kind: WorkerEvent
    at: datetime
    step: int
    values: Mapping[str, float] = field(default_factory=dict)  # METRICS
    total_steps: int | None = None  # STARTED
    resumed_from: int | None = None  # STARTED
    path: str = ""  # CHECKPOINT, DAMAGED
    size_bytes: int = 0  # CHECKPOINT
    why: str = ""  # DAMAGED


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What whole lines said, and how many lines said nothing that could be used."""

    facts: tuple[Fact, ...] = ()
    num_bad: int = 0


def read_facts(data: bytes, *, now: datetime) -> Facts:
    """The facts of these lines, in order. Times from the future become `now`."""
    lines = [line for line in data.split(b"\n") if line.strip()]
    read = [_fact(line, now) for line in lines]
    facts = tuple(fact for fact in read if fact is not None)
    return Facts(facts=facts, num_bad=len(lines) - len(facts))


def whole_lines(before: bytes, fresh: bytes, *, final: bool) -> bytes:
    """The lines that `fresh` completes. `before`: what came just ahead, its last line perhaps open.

    With `final` the last line is complete without a line break. A line that is too long is left out.
    """
    start = before.rpartition(b"\n")[2]
    if final:
        return start + fresh
    complete = fresh.rfind(b"\n") + 1
    return start + fresh[:complete] if complete else b""


def _fact(line: bytes, now: datetime) -> Fact | None:
    if len(line) > LONGEST_LINE:
        return None
    try:
        data = json.loads(line)
        kind = WorkerEvent(data["kind"])
        values = _values(data) if kind is WorkerEvent.METRICS else {}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    step = _count(data.get("step"))
    if step is None:
        return None
    return Fact(
        kind=kind,
        at=_moment(data.get("at_ms"), now),
        step=step,
        values=values,
        total_steps=_count(data.get("total_steps")),
        resumed_from=_count(data.get("resumed_from")),
        path=storable(str(data.get("path") or ""), max_length=1000),
        size_bytes=_count(data.get("size_bytes")) or 0,
        why=storable(str(data.get("why") or ""), max_length=300),
    )


def _values(data: Mapping[str, Any]) -> dict[str, float]:
    """Numbers by name. JSON has no word for what is not finite, so such values are only named."""
    odd = {name: math.nan for name in data.get("not_finite", []) if isinstance(name, str)}
    return {**data["values"], **odd}


def _count(value: object) -> int | None:
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST
    return value if usable and isinstance(value, int) else None


def _moment(at_ms: object, now: datetime) -> datetime:
    if (
        not isinstance(at_ms, int | float)
        or isinstance(at_ms, bool)
        or not 0 <= at_ms <= now.timestamp() * 1000
    ):
        return now
    return datetime.fromtimestamp(at_ms / 1000, UTC)
