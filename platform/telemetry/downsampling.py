"""Fewer points that still show the curve: of each bucket the first, last, least and greatest. Pure."""

from collections.abc import Sequence
from itertools import pairwise

Point = tuple[int, float | None, int]  # step, value (None: not finite), milliseconds


def downsample(points: Sequence[Point], *, max_points: int) -> list[Point]:
    """At most `max_points` of the points (never fewer than 4), in their order. A spike is never lost."""
    if len(points) <= max_points:
        return list(points)
    num_buckets = max(1, max_points // 4)
    starts = [bucket * len(points) // num_buckets for bucket in range(num_buckets + 1)]
    buckets = (points[start:end] for start, end in pairwise(starts))
    return [point for bucket in buckets for point in _extremes(bucket)]


def _extremes(bucket: Sequence[Point]) -> list[Point]:
    """First, last, least and greatest, each once, in order."""
    finite = [index for index, point in enumerate(bucket) if point[1] is not None]
    chosen = {0, len(bucket) - 1} if bucket else set()
    if finite:
        chosen.add(min(finite, key=lambda index: (bucket[index][1] or 0.0, index)))
        chosen.add(max(finite, key=lambda index: (bucket[index][1] or 0.0, -index)))
    return [bucket[index] for index in sorted(chosen)]
