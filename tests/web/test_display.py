"""How amounts, times and durations read."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone, translation

from jobs.lifecycle import State
from portal.templatetags import display, parts


@pytest.mark.parametrize(
    ("milli", "text"), [(16000, "16"), (500, "0.5"), (0, "0"), (None, "∞"), (1250, "1.25")]
)
def test_devices(milli: int | None, text: str) -> None:
    """Milli-units as people count them."""
    assert display.devices(milli) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (2**30, "1 GiB"),
        (203_000_000, "194 MiB"),
    ],
)
def test_filesize(size: int, text: str) -> None:
    """Binary units."""
    assert display.filesize(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.4, "<1s"),
        (59.9, "59s"),
        (61, "1m 01s"),
        (3700, "1h 01m"),
        (100_000, "1d 3h"),
        (-5, "0s"),
    ],
)
def test_span(seconds: float, text: str) -> None:
    """The two largest units."""
    with translation.override("en"):
        assert display.span(seconds) == text
        assert display.span(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("kept", "text"), [("50 steps", "50 steps"), ("1 steps", "1 step"), ("300s", "5m 00s"), ("auto", "auto")]
)
def test_interval(kept: str, text: str) -> None:
    """As the job file keeps it."""
    with translation.override("en"):
        assert display.interval(kept) == text


def test_every_state_has_a_word_and_a_colour() -> None:
    """A new state without one would show as an error."""
    for state in State:
        assert display.state_name(state)
        assert f"tone-{state}" in parts.pill(state)


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("UTC", "UTC"),
        ("Asia/Shanghai", "Asia/Shanghai (UTC+8)"),
        ("Asia/Kolkata", "Asia/Kolkata (UTC+5:30)"),
        ("America/Phoenix", "America/Phoenix (UTC-7)"),
    ],
)
def test_zone_name(zone: str, text: str) -> None:
    """With its distance from UTC."""
    with timezone.override(zone):
        assert display.zone_name() == text


def test_a_moment_says_its_zone_and_an_old_one_its_year() -> None:
    """In the tooltip, and in the machine-readable part."""
    with timezone.override("Asia/Shanghai"):
        shown = display.moment(datetime(2001, 2, 3, 23, 4, tzinfo=UTC))
    assert ">2001-02-04 07:04<" in shown
    assert "2001-02-04 07:04:00 Asia/Shanghai (UTC+8)" in shown
    assert 'datetime="2001-02-03T23:04:00+00:00"' in shown


@pytest.mark.parametrize(
    ("part", "whole", "text"), [(1, 4, "25.0%"), (9, 4, "100.0%"), (1, 0, "0.0%"), (None, None, "0.0%")]
)
def test_bars_stay_in_their_width(part: float | None, whole: float | None, text: str) -> None:
    """Whatever the numbers."""
    assert f'width="{text}"' in parts.bar(part, whole)


def test_a_quota_bar_tells_its_numbers_to_screen_readers() -> None:
    """Used, guaranteed, limit."""
    with translation.override("en"):
        bar = parts.quota_bar(11000, 8000, 16000, 40000)
    assert 'aria-label="11 used, 8 guaranteed, limit 16"' in bar
    assert "style=" not in bar


def test_progress_is_not_complete_before_it_is() -> None:
    """399 of 400 is 99 %."""
    assert parts.percent(399, 400) == 99
    assert parts.percent(400, 400) == 100


@pytest.mark.parametrize(
    ("name", "letters"), [("Owner of A", "OA"), ("owner", "OW"), ("管理员", "管理"), ("", "")]
)
def test_initials(name: str, letters: str) -> None:
    """For any name."""
    assert parts.initials(name) == letters


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.07642, "2.076"), (41920.5, "41\u2009920"), (float("nan"), "nan"), (None, "–"), (1e12, "1.000e+12")],
)
def test_measured_numbers(value: object, text: str) -> None:
    """Four digits, and groups when they are large."""
    assert display.number(value) == text
