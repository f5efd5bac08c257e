"""Placements as collections of workers: what is left of one without another, and which spots it takes."""

from collections import Counter
from collections.abc import Iterable, Iterator

from scheduling.model import NodeName, Placement, Worker

Spot = tuple[NodeName, int]


def without(placement: Placement, others: Iterable[Worker]) -> Placement:
    """The workers of a placement less the others, of which several may stand alike."""
    left, found = Counter(others), []
    for worker in placement:
        if left[worker]:
            left[worker] -= 1
        else:
            found.append(worker)
    return tuple(found)


def spots(placement: Placement) -> Iterator[Spot]:
    """Devices of a placement; a worker without any stands on its node."""
    return ((worker.node, device) for worker in placement for device in worker.devices or (-1,))
