"""The placer's choice among nodes that each hold the whole gang: where it adds least to the loss.

Loss is expected fragmentation plus stranded devices (`scheduling.fragmentation`), against the mix of all jobs
that wait or run. Gangs over several nodes are consolidated as ever: what they leave is little beside them.
"""

from collections.abc import Callable, Mapping

import numpy as np

from scheduling.amounts import Kind, Shape
from scheduling.fragmentation import Gradients, Mix, Room, best_unit
from scheduling.supply import Free, IntArray, Supply


def mix_of(workers: Mapping[Kind, int], *, supply: Supply) -> Mix:
    """The mix, given how many workers of each kind wait or run. Kinds that differ in places alone are one."""
    merged: dict[Kind, int] = {}
    for kind, count in workers.items():
        if not count:
            continue
        plain = Kind(shape=kind.shape, types=tuple(sorted(kind.types)), required=())
        merged[plain] = merged.get(plain, 0) + count
    known = sorted(merged, key=_by_amounts)
    return Mix.of(known, [merged[kind] for kind in known], types=supply.types)


class LeastLoss:
    """Chooses nodes in one plan. An account of what is free that is asked about again is reckoned once and
    then kept in step, as only a start's own node changes.
    """

    def __init__(self, supply: Supply, mix: Callable[[], Mix]) -> None:
        self._supply = supply
        self._mix = mix
        self._asked: dict[int, _Kept] = {}  # by identity; the account is held, so that none takes its place

    def best_node(
        self, free: Free, shape: Shape, *, num_workers: int, nodes: IntArray
    ) -> tuple[int, int] | None:
        """The node of these that suits the gang best, and the device that a part of one should share. Nothing
        for parts of several devices: the measure knows one at a time.
        """
        if shape.is_fraction and num_workers > 1:
            return None
        room = Room(free.devices, free.cpus, free.memory, self._supply.type_of)
        kept = self._asked.get(id(free))
        if kept is None:
            self._asked[id(free)] = _Kept(free)
            return best_unit(room, _as_one(shape, num_workers), nodes, self._mix())
        return kept.gradients(room, self._mix).best(_as_one(shape, num_workers), nodes)


class _Kept:
    """The gradients of one account, from the second question on."""

    def __init__(self, free: Free) -> None:
        self._free = free
        self._seen = 0
        self._gradients: Gradients | None = None

    def gradients(self, room: Room, mix: Callable[[], Mix]) -> Gradients:
        """In step with the account."""
        changes = self._free.changes
        if self._gradients is None:
            self._gradients = Gradients(room, mix())
        elif self._seen < len(changes):
            self._gradients.changed(np.unique(np.concatenate(changes[self._seen :])))
        self._seen = len(changes)
        return self._gradients


def _as_one(shape: Shape, num_workers: int) -> Shape:
    """The workers as one that takes what all of them take."""
    if num_workers == 1:
        return shape
    return Shape(
        num_devices=shape.num_devices * num_workers,
        device_milli=shape.device_milli,
        cpus_milli=shape.cpus_milli * num_workers,
        memory_bytes=shape.memory_bytes * num_workers,
    )


def _by_amounts(kind: Kind) -> tuple[int, int, int, int, tuple[str, ...]]:
    shape = kind.shape
    return shape.num_devices, shape.device_milli, shape.cpus_milli, shape.memory_bytes, kind.types
