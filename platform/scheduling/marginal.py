"""How many workers each elastic job should have: every device where it is worth most, and no change that is
not worth its restart. Pure arithmetic; `scheduling.balance` carries it out.

The utility of a size is the logarithm of its speed: doubling somebody's speed is worth the same whoever it
is, so nobody is starved for one who scales well. A job's gain counts by its weight. Each size but the present
one is worth less by what a restart costs over the time until things are likely to change again, in which a
gain would have to make up for it.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

REFERENCE_MS = 3_000_000  # left to run, or done in milliseconds of one device: weighs 1
REMAINING_POWER = -0.6
SERVICE_POWER = -0.5
LEAST_REMAINING_MS = 30_000  # less is not told apart
STARTING = 1.0  # utility of the first size against none at all; doubling the speed is worth 0.69
HORIZON_MS = 150_000  # in which a restart has to pay off
PARTS_OF_REST = 2  # and in this part of what the job still has to run: nobody restarts just before the end

Point = tuple[int, float]  # size and its value


@dataclass(frozen=True, slots=True)
class Wish:
    """One job: sizes worth having, rising, the present one (0: it waits) among them, and the speed at each.

    `devices` is what one worker takes, in any unit of the capacity. `change_cost` is a restart's part of the
    horizon.
    """

    sizes: tuple[int, ...]
    speeds: tuple[float, ...]
    weight: float
    devices: int
    current: int = 0
    change_cost: float = 0.0


def target_sizes(wishes: Sequence[Wish], capacity: int) -> list[int]:
    """The sizes with the highest value in sum that the capacity allows, by steepest ascent.

    Running jobs keep at least their least size. What is not better than what is changes nothing.
    """
    hulls = [_hull(_points(wish)) for wish in wishes]
    sizes = [hull[0][0] for hull in hulls]
    left = capacity - sum(size * wish.devices for size, wish in zip(sizes, wishes, strict=True))
    steps = [(-_slope(hull, 1, wish), index, 1) for index, (hull, wish) in _growing(hulls, wishes)]
    heapq.heapify(steps)
    while steps and left > 0:
        _, index, position = heapq.heappop(steps)
        hull, wish = hulls[index], wishes[index]
        needed = (hull[position][0] - hull[position - 1][0]) * wish.devices
        if needed > left:
            continue
        left -= needed
        sizes[index] = hull[position][0]
        if position + 1 < len(hull):
            heapq.heappush(steps, (-_slope(hull, position + 1, wish), index, position + 1))
    return sizes if _is_better(wishes, sizes, capacity) else [wish.current for wish in wishes]


def weight(*, remaining_ms: int | None, service_ms: float) -> float:
    """By how much a job's gain counts: more with little left to do at one worker's speed, or, if nobody
    knows, with little done, in milliseconds of one device.
    """
    if remaining_ms is not None:
        return float((max(remaining_ms, LEAST_REMAINING_MS) / REFERENCE_MS) ** REMAINING_POWER)
    return float((1 + service_ms / REFERENCE_MS) ** SERVICE_POWER)


def value(wish: Wish, size: int) -> float:
    """What a size is worth to a job now."""
    if not size:
        return 0.0
    speed = wish.speeds[wish.sizes.index(size)]
    utility = STARTING + math.log(max(speed, 1e-9) / max(wish.speeds[0], 1e-9))
    changes = wish.current and size != wish.current
    return wish.weight * (utility - wish.change_cost if changes else utility)


def _points(wish: Wish) -> list[Point]:
    none = [] if wish.current else [(0, 0.0)]
    return none + [(size, value(wish, size)) for size in wish.sizes]


def _hull(points: list[Point]) -> list[Point]:
    """The upper concave hull, from the first point to the highest."""
    hull = points[:1]
    for point in points[1:]:
        if point[1] <= hull[-1][1]:
            continue
        while len(hull) > 1 and _rises_faster(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _rises_faster(first: Point, middle: Point, last: Point) -> bool:
    """Whether it is no less steep behind the middle point than before it."""
    before = (middle[1] - first[1]) * (last[0] - middle[0])
    return (last[1] - middle[1]) * (middle[0] - first[0]) >= before


def _growing(
    hulls: Sequence[list[Point]], wishes: Sequence[Wish]
) -> list[tuple[int, tuple[list[Point], Wish]]]:
    pairs = enumerate(zip(hulls, wishes, strict=True))
    return [(index, (hull, wish)) for index, (hull, wish) in pairs if len(hull) > 1]


def _slope(hull: list[Point], position: int, wish: Wish) -> float:
    """Value of each device in the step that leads to this point."""
    (size, worth), (smaller, less) = hull[position], hull[position - 1]
    return (worth - less) / ((size - smaller) * max(wish.devices, 1))


def _is_better(wishes: Sequence[Wish], sizes: Sequence[int], capacity: int) -> bool:
    now = sum(value(wish, wish.current) for wish in wishes)
    found = sum(value(wish, size) for wish, size in zip(wishes, sizes, strict=True))
    is_possible = sum(wish.current * wish.devices for wish in wishes) <= capacity
    return found > now or not is_possible
