"""Amounts as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import units


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("8GiB", 8 * 2**30),
        ("512 MiB", 512 * 2**20),
        ("1.5GiB", 3 * 2**29),
        ("10GB", 10**10),
        ("0", 0),
        (4096, 4096),
        ("7B", 7),
    ],
)
def test_memory_is_read(text: object, amount: int) -> None:
    """With binary and decimal units, or as plain bytes."""
    assert units.parse_bytes(text) == amount


@pytest.mark.parametrize("text", ["8 gib", "GiB", "-1GiB", "8GiBs", "1e9", "", True, -1, None, "٨GiB", 1.5])
def test_what_is_no_memory_is_not_guessed(text: object) -> None:
    """None, and the caller says what is wrong."""
    assert units.parse_bytes(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60s", 60), ("12h", 43_200), ("1h30m", 5_400), ("2d", 172_800), ("1d2h3m4s", 93_784), (90, 90)],
)
def test_durations_are_read(text: object, seconds: int) -> None:
    """Largest unit first; a plain number is seconds."""
    assert units.parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "1m1h", "1.5h", "12 h", "12H", "-5s", True, None, "1w", 1.5])
def test_what_is_no_duration_is_not_guessed(text: object) -> None:
    """None, and the caller says what is wrong."""
    assert units.parse_seconds(text) is None


@pytest.mark.parametrize(
    ("number", "milli"), [(0.5, 500), (4, 4000), (0, 0), (0.001, 1), (0.1, 100), (2.5, 2500)]
)
def test_parts_of_a_device_are_thousandths(number: float, milli: int) -> None:
    """Exactly, not by way of a binary fraction."""
    assert units.parse_milli(number) == milli


@pytest.mark.parametrize("number", [0.0001, -1, True, "4", None, float("nan"), float("inf"), 10**12])
def test_what_is_no_number_of_devices_is_not_guessed(number: object) -> None:
    """None, and the caller says what is wrong."""
    assert units.parse_milli(number) is None


@given(st.integers(0, 2**50))
def test_memory_is_written_as_it_is_read(amount: int) -> None:
    """The inverse, for every amount."""
    assert units.parse_bytes(units.render_bytes(amount)) == amount


@given(st.integers(0, 366 * 86_400))
def test_durations_are_written_as_they_are_read(seconds: int) -> None:
    """The inverse, for every duration."""
    assert units.parse_seconds(units.render_seconds(seconds)) == seconds


@given(st.integers(0, 10**9))
def test_devices_are_written_as_they_are_read(milli: int) -> None:
    """The inverse, for every number of devices."""
    assert units.parse_milli(units.render_milli(milli)) == milli
