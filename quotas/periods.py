"""Calendar days of a time zone as spans of absolute time. Pure."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Day:
    """One calendar day; 23 or 25 hours long where clocks are changed."""

    date: date
    start: datetime
    end: datetime


def days_between(first: date, last: date, zone: ZoneInfo) -> list[Day]:
    """The days from `first` to `last`, both included."""
    dates = [first + timedelta(days=offset) for offset in range((last - first).days + 1)]
    return [Day(day, _midnight(day, zone), _midnight(day + timedelta(days=1), zone)) for day in dates]


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time.min, tzinfo=zone)
