"""Taking in the numbers that jobs report about themselves. They come from user code: nothing is believed."""

import json
import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

Points = Iterable[tuple[int, datetime, Mapping[str, Any]]]

MOST_NAMES = 64  # per point
LONGEST_NAME = 60
MOST_STEPS = 2**62  # far below the column's end

# Two reports of one step (a loss now, its throughput later, or the same again) become one point.
_UPSERT = """
    INSERT INTO telemetry_metricpoint (job_id, attempt_id, rank, step, at, "values")
    SELECT %(job_id)s, %(attempt_id)s, %(rank)s, point.step, point.at, point.numbers
      FROM unnest(%(steps)s::bigint[], %(ats)s::timestamptz[], %(numbers)s::jsonb[])
           AS point (step, at, numbers)
    ON CONFLICT (attempt_id, rank, step)
    DO UPDATE SET "values" = telemetry_metricpoint."values" || EXCLUDED."values", at = EXCLUDED.at
"""


def record_points(*, job_id: UUID, attempt_id: UUID, rank: int, points: Points, now: datetime) -> int:
    """Store (step, at, values) triples; a repeat changes nothing. How many steps had something usable.

    Values that are not numbers are left out; what is not finite (a diverged loss) is kept as a gap. Times
    from the future, of a node whose clock is ahead, become `now`.
    """
    merged: dict[int, tuple[datetime, dict[str, float | None]]] = {}
    for step, at, values in points:
        if _is_step(step) and (clean := _numbers(values)):
            _at, earlier = merged.get(step, (at, {}))
            merged[step] = (min(at, now), {**earlier, **clean})
    if merged:
        _upsert(job_id, attempt_id, rank, merged)
    return len(merged)


def _upsert(
    job_id: UUID,
    attempt_id: UUID,
    rank: int,
    merged: Mapping[int, tuple[datetime, Mapping[str, float | None]]],
) -> None:
    """One statement for any number of points; it may not meet a step twice, so they come merged."""
    parameters: dict[str, Any] = {
        "job_id": job_id,
        "attempt_id": attempt_id,
        "rank": rank,
        "steps": list(merged),
        "ats": [at for at, _numbers_there in merged.values()],
        "numbers": [json.dumps(numbers) for _at, numbers in merged.values()],
    }
    with connection.cursor() as cursor:
        cursor.execute(_UPSERT, parameters)


def _is_step(step: object) -> bool:
    return isinstance(step, int) and not isinstance(step, bool) and 0 <= step <= MOST_STEPS


def _numbers(values: object) -> dict[str, float | None]:
    if not isinstance(values, Mapping):
        return {}
    usable = {name: _number(value) for name, value in values.items() if _is_usable(name, value)}
    return dict(sorted(usable.items())[:MOST_NAMES])


def _is_usable(name: object, value: object) -> bool:
    named = isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable()
    return named and isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:  # an integer beyond any float
        return None
    return number if math.isfinite(number) else None
