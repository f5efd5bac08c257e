"""What was used, from the closed and live rows of the ledger: by team, queue, user and calendar day."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection

from accounts.models import User
from accounts.selectors import teams_of
from quotas.periods import Day, days_between

# What may be asked for, and the column that it is.
DIMENSIONS: Mapping[str, str] = {
    "day": "span.day",
    "team": "COALESCE(team.slug, '')",
    "queue": "queue.path",
    "user": "person.username",
}

# Each holding is cut at the days' borders; a live one counts until now.
_SUMS = """
    SELECT COALESCE(SUM(holding.amount_milli * EXTRACT(EPOCH FROM
               LEAST(COALESCE(holding.released_at, %(now)s), span.ends)
               - GREATEST(holding.held_at, span.starts))), 0) / 1000,
           COUNT(DISTINCT holding.holder_id)
           {columns}
      FROM unnest(%(days)s::date[], %(starts)s::timestamptz[], %(ends)s::timestamptz[])
           AS span (day, starts, ends)
      JOIN quotas_holding holding
        ON holding.held_at < span.ends AND COALESCE(holding.released_at, %(now)s) > span.starts
      JOIN quotas_queue queue ON queue.id = holding.queue_id
      LEFT JOIN accounts_team team ON team.id = queue.team_id
      JOIN accounts_user person ON person.id = holding.user_id
     WHERE %(everything)s OR queue.team_id = ANY(%(teams)s::uuid[])
    {grouping}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """What was used by one group; a dimension that was not asked for is None.

    `accelerator_seconds` counts each accelerator for each second in which it was held.
    """

    day: date | None = None
    team: str | None = None
    queue: str | None = None
    user: str | None = None
    accelerator_seconds: float
    num_attempts: int

    @property
    def accelerator_hours(self) -> float:
        """The same in the unit that people count in."""
        return self.accelerator_seconds / 3600


def usage(
    reader: User,
    *,
    first: date,
    last: date,
    zone: ZoneInfo,
    by: Collection[str] = tuple(DIMENSIONS),
    now: datetime,
) -> list[UsageRow]:
    """What the reader's teams used from `first` to `last` (days of the zone, both included), grouped.

    Platform admins see every team's. Groups come in the order of `DIMENSIONS`.
    """
    names = [name for name in DIMENSIONS if name in by]
    parameters = {**_days(days_between(first, last, zone)), **_scope(reader), "now": now}
    with connection.cursor() as cursor:
        cursor.execute(_query(names), parameters)
        return [_row(names, row) for row in cursor.fetchall()]


def _query(names: Sequence[str]) -> str:
    columns = [DIMENSIONS[name] for name in names]
    order = ", ".join(str(3 + index) for index in range(len(columns)))
    return _SUMS.format(
        columns="".join(f", {column}" for column in columns),
        grouping=f"GROUP BY {order} ORDER BY {order}" if order else "",
    )


def _days(days: Sequence[Day]) -> dict[str, Any]:
    return {
        "days": [day.date for day in days],
        "starts": [day.start for day in days],
        "ends": [day.end for day in days],
    }


def _scope(reader: User) -> dict[str, Any]:
    everything = reader.is_platform_admin and reader.is_active
    teams = [] if everything else list(teams_of(reader).values_list("id", flat=True))
    return {"everything": everything, "teams": teams}


def _row(names: Sequence[str], row: Sequence[Any]) -> UsageRow:
    seconds, num_attempts, *groups = row
    return UsageRow(
        accelerator_seconds=float(seconds),
        num_attempts=num_attempts,
        **dict(zip(names, groups, strict=True)),
    )
