"""The stages of a job and the way it went through them."""

from datetime import timedelta

import pytest

from jobs.models import Attempt, Job
from jobs.views.stages import SMALLEST_SHARE, journey_of, stages_of
from tests.jobs.builders import NOW, at


def job(state: str, *, finished: float | None = None) -> Job:
    """An unsaved job, submitted at second 0."""
    return Job(state=state, submitted_at=NOW, finished_at=None if finished is None else at(finished))


def attempt(number: int, ordered: float, *moments: float | None) -> Attempt:
    """Ordered, running, told to stop, ended: in seconds."""
    running, stop, ended = (None if moment is None else at(moment) for moment in moments)
    return Attempt(
        number=number,
        ordered_at=at(ordered),
        running_at=running,
        stop_ordered_at=stop,
        ended_at=ended,
        placement=[],
    )


def tones(subject: Job, *attempts: Attempt, now: float) -> list[tuple[str, float]]:
    """The journey as stage and seconds."""
    journey = journey_of(subject, attempts, now=at(now))
    return [(stretch.tone, stretch.length.total_seconds()) for stretch in journey]


def test_a_preempted_job_shows_both_attempts() -> None:
    """Waiting, running, leaving, waiting, running."""
    first, second = attempt(1, 10, 12, 50, 55), attempt(2, 100, 101, None, None)
    assert tones(job("running"), first, second, now=151) == [
        ("queued", 10),
        ("starting", 2),
        ("running", 38),
        ("stopping", 5),
        ("queued", 45),
        ("starting", 1),
        ("running", 50),
    ]


@pytest.mark.parametrize(
    ("state", "attempts", "expected"),
    [
        ("queued", [], [("queued", 60)]),
        ("held", [], [("held", 60)]),
        ("starting", [attempt(1, 20, None, None, None)], [("queued", 20), ("starting", 40)]),
        ("stopping", [attempt(1, 0, 1, 30, None)], [("starting", 1), ("running", 29), ("stopping", 30)]),
        ("queued", [attempt(1, 0, 1, None, 30)], [("starting", 1), ("running", 29), ("queued", 30)]),
    ],
)
def test_each_state_ends_the_journey_in_its_own_way(
    state: str, attempts: list[Attempt], expected: list[tuple[str, float]]
) -> None:
    """Up to now."""
    assert tones(job(state), *attempts, now=60) == expected


def test_an_ended_job_ends_with_its_last_attempt() -> None:
    """The time since then is nobody's."""
    assert tones(job("succeeded", finished=30), attempt(1, 5, 6, None, 30), now=9999) == [
        ("queued", 5),
        ("starting", 1),
        ("running", 24),
    ]
    assert tones(job("cancelled", finished=7), now=9999) == [("queued", 7)]


def test_clocks_that_differ_do_not_draw_backwards() -> None:
    """A report may carry a time before the order's."""
    journey = journey_of(job("running"), [attempt(1, 10, 9.5, None, None)], now=at(20))
    assert all(stretch.length > timedelta() for stretch in journey)


def test_the_journey_fills_its_width_and_shows_the_shortest_stretch() -> None:
    """A second of starting in a week of waiting."""
    journey = journey_of(job("running"), [attempt(1, 604_800, 604_801, None, None)], now=at(604_900))
    assert sum(stretch.width for stretch in journey) == pytest.approx(100, abs=0.01)
    assert min(stretch.width for stretch in journey) > SMALLEST_SHARE * 0.9
    assert journey[0].x == 0


def test_stages_add_up_what_the_journey_spent() -> None:
    """Both spells of waiting together; the present stage is marked."""
    first, second = attempt(1, 10, 12, 50, 55), attempt(2, 100, 101, None, None)
    subject = job("running")
    stages = stages_of(subject, journey_of(subject, [first, second], now=at(151)))
    assert [stage.length.total_seconds() for stage in stages] == [55, 3, 93, 0]
    assert [stage.name for stage in stages if stage.is_current] == ["running"]
    assert [stage.is_reached for stage in stages] == [True, True, True, False]


def test_a_job_cancelled_while_it_waits_never_started() -> None:
    """Two of the four steps were reached."""
    subject = job("cancelled", finished=5)
    stages = stages_of(subject, journey_of(subject, [], now=at(99)))
    assert [stage.is_reached for stage in stages] == [True, False, False, True]
