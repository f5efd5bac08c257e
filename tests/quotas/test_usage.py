"""What was used: cut at the days' borders of any zone, grouped, and shown to those who may see it."""

from datetime import UTC, date, datetime, timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest

from accounts.models import User
from quotas.models import Queue
from quotas.periods import days_between
from quotas.services import hold, release
from quotas.usage import usage
from tests.accounts.builders import Cast, client_of
from tests.quotas.builders import a_queue

SHANGHAI = ZoneInfo("Asia/Shanghai")
UTC_ZONE = ZoneInfo("UTC")
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture
def queues(cast: Cast) -> tuple[Queue, Queue]:
    """One queue per team."""
    return a_queue("a", team=cast.team_a), a_queue("b", team=cast.team_b)


def held(queue: Queue, user: User, devices: int, start: datetime, end: datetime | None) -> None:
    """Hold so many devices from then to then, or until now."""
    holder = uuid4()
    hold(holder_id=holder, queue_id=queue.id, amount_milli=devices * 1000, user_id=user.id, now=start)
    if end is not None:
        release(holder_id=holder, now=end)


def at(day: int, hour: int) -> datetime:
    """In November 2026, UTC."""
    return datetime(2026, 11, day, hour, tzinfo=UTC)


def test_hours_are_devices_times_hours(cast: Cast, queues: tuple[Queue, Queue]) -> None:
    """4 devices for 2 hours, half of it before the day."""
    held(queues[0], cast.owner, 4, at(28, 23), at(29, 1))
    rows = usage(
        cast.owner, first=date(2026, 11, 29), last=date(2026, 11, 29), zone=UTC_ZONE, by=["team"], now=NOON
    )
    assert [(row.team, row.accelerator_hours, row.num_attempts) for row in rows] == [("team-a", 4.0, 1)]


def test_a_night_run_falls_into_two_days_and_counts_as_one_attempt(
    cast: Cast, queues: tuple[Queue, Queue]
) -> None:
    """Per day where days were asked for, once where not."""
    held(queues[0], cast.owner, 1, at(28, 22), at(29, 3))
    span = {"first": date(2026, 11, 28), "last": date(2026, 11, 29), "zone": UTC_ZONE, "now": NOON}
    by_day = usage(cast.owner, by=["day"], **span)  # type: ignore[arg-type]  # one dict for two calls
    assert [(row.day, row.accelerator_hours) for row in by_day] == [
        (date(2026, 11, 28), 2.0),
        (date(2026, 11, 29), 3.0),
    ]
    (total,) = usage(cast.owner, by=[], **span)  # type: ignore[arg-type]  # as above
    assert (total.accelerator_hours, total.num_attempts) == (5.0, 1)


def test_the_day_is_the_zones(cast: Cast, queues: tuple[Queue, Queue]) -> None:
    """18:00 UTC is tomorrow in Shanghai."""
    held(queues[0], cast.owner, 1, at(28, 15), at(28, 18))
    rows = usage(
        cast.owner, first=date(2026, 11, 28), last=date(2026, 11, 29), zone=SHANGHAI, by=["day"], now=NOON
    )
    assert [(row.day, row.accelerator_hours) for row in rows] == [
        (date(2026, 11, 28), 1.0),
        (date(2026, 11, 29), 2.0),
    ]


def test_a_live_holding_counts_until_now(cast: Cast, queues: tuple[Queue, Queue]) -> None:
    """And not into the future."""
    held(queues[0], cast.owner, 2, at(30, 10), None)
    (row,) = usage(
        cast.owner, first=date(2026, 11, 30), last=date(2026, 12, 5), zone=UTC_ZONE, by=["user"], now=NOON
    )
    assert (row.user, row.accelerator_hours) == ("owner", 4.0)


def test_groups_are_by_any_dimensions(cast: Cast, queues: tuple[Queue, Queue]) -> None:
    """In canonical order."""
    held(queues[0], cast.teammate, 1, at(29, 0), at(29, 1))
    held(queues[0], cast.owner, 1, at(29, 0), at(29, 1))
    held(queues[1], cast.outsider, 1, at(29, 0), at(29, 1))
    rows = usage(
        cast.platform_admin, first=date(2026, 11, 29), last=date(2026, 11, 29), zone=UTC_ZONE, now=NOON
    )
    assert [(row.day, row.team, row.queue, row.user) for row in rows] == [
        (date(2026, 11, 29), "team-a", "a", "owner"),
        (date(2026, 11, 29), "team-a", "a", "teammate"),
        (date(2026, 11, 29), "team-b", "b", "outsider"),
    ]


def test_a_reader_sees_the_own_teams_only(cast: Cast, queues: tuple[Queue, Queue]) -> None:
    """Also a viewer does; a switched off admin sees nothing."""
    held(queues[1], cast.outsider, 1, at(29, 0), at(29, 1))
    span = {"first": date(2026, 11, 29), "last": date(2026, 11, 29), "zone": UTC_ZONE, "now": NOON}
    assert usage(cast.viewer, **span) == []  # type: ignore[arg-type]  # one dict for two calls
    cast.platform_admin.is_active = False
    assert usage(cast.platform_admin, **span) == []  # type: ignore[arg-type]  # as above


def test_a_day_of_changed_clocks_has_25_hours() -> None:
    """Days are the calendar's, hours are real."""
    (day,) = days_between(date(2026, 10, 25), date(2026, 10, 25), ZoneInfo("Europe/Berlin"))
    assert day.end.astimezone(UTC) - day.start.astimezone(UTC) == timedelta(hours=25)


def test_usage_over_rest(cast: Cast, queues: tuple[Queue, Queue]) -> None:
    """As JSON."""
    held(queues[0], cast.owner, 3, at(29, 0), at(29, 1))
    answer = client_of(cast.owner).get(
        "/api/v1/usage?by=team,user&since=2026-11-29&until=2026-11-29&tz=Asia/Shanghai"
    )
    assert answer.json() == {
        "results": [
            {
                "day": None,
                "team": "team-a",
                "queue": None,
                "user": "owner",
                "accelerator_hours": 3.0,
                "num_attempts": 1,
            }
        ],
        "next": None,
    }


def test_usage_as_csv_holds_no_formula(cast: Cast, queues: tuple[Queue, Queue]) -> None:
    """A user may be named like one."""
    cast.owner.username = "@SUM(A1)"
    cast.owner.save()
    held(queues[0], cast.owner, 1, at(29, 0), at(29, 1))
    answer = client_of(cast.owner).get("/api/v1/usage?since=2026-11-29&until=2026-11-29&format=csv")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.content.decode("utf-8-sig").splitlines() == [
        "day,team,queue,user,accelerator_hours,num_attempts",
        "2026-11-29,team-a,a,'@SUM(A1),1.0,1",
    ]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("by=team,colour", "by"),
        ("tz=Mars", "tz"),
        ("since=yesterday", "since"),
        ("since=2026-11-30&until=2026-11-29", "since"),
        ("since=2020-01-01&until=2026-11-29", "since"),
        ("format=xml", "format"),
    ],
)
def test_a_bad_question_is_refused_by_path(cast: Cast, query: str, path: str) -> None:
    """Never a 500."""
    answer = client_of(cast.owner).get(f"/api/v1/usage?{query}")
    assert answer.status_code == 422
    assert [item["path"] for item in answer.json()["details"]] == [path]
