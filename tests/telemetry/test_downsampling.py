"""Fewer points that still show the curve."""

from hypothesis import given, settings
from hypothesis import strategies as st

from telemetry.downsampling import Point, downsample

VALUES = st.none() | st.floats(-1e6, 1e6)
CURVES = st.lists(VALUES, max_size=400).map(
    lambda values: [(step, value, step * 10) for step, value in enumerate(values)]
)


def curve(*values: float | None) -> list[Point]:
    """One point per step."""
    return [(step, value, step * 10) for step, value in enumerate(values)]


def test_what_fits_is_left_as_it_is() -> None:
    """Letter for letter."""
    points = curve(3.0, 2.0, 1.0)
    assert downsample(points, max_points=3) == points


def test_each_bucket_keeps_first_last_least_and_greatest() -> None:
    """In step order."""
    points = curve(5.0, 9.0, 1.0, 4.0, 6.0)
    assert [point[0] for point in downsample(points, max_points=4)] == [0, 1, 2, 4]


def test_a_spike_of_one_point_in_a_hundred_thousand_is_kept() -> None:
    """It is what one looks for."""
    values: list[float | None] = [1.0] * 100_000
    values[67_890] = 99.0
    kept = downsample(curve(*values), max_points=500)
    assert (67_890, 99.0, 678_900) in kept
    assert len(kept) <= 500


def test_a_gap_does_not_hide_what_is_around_it() -> None:
    """Values that were not finite are no extremes."""
    kept = downsample(curve(None, 1.0, None, 7.0, 3.0, None), max_points=5)
    assert [point[1] for point in kept] == [None, 1.0, 7.0, None]


@settings(deadline=None)
@given(CURVES, st.integers(4, 50))
def test_whatever_the_curve(points: list[Point], max_points: int) -> None:
    """Never more than asked; ends, least and greatest are there; a part of the points, in order."""
    kept = downsample(points, max_points=max_points)
    assert len(kept) <= max(max_points, 4)
    assert [point for point in points if point in kept] == kept
    if points:
        assert (kept[0], kept[-1]) == (points[0], points[-1])
    finite = [point[1] for point in points if point[1] is not None]
    if finite:
        shown = [point[1] for point in kept if point[1] is not None]
        assert (min(shown), max(shown)) == (min(finite), max(finite))
