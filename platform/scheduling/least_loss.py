"""The placer's choice among nodes that each hold the whole gang: where it adds least to the loss.

Loss is expected fragmentation plus stranded devices (`scheduling.fragmentation`), against the mix of all jobs
that wait or run. Gangs over several nodes are consolidated as ever: what they leave is little beside them.
"""

from collections.abc import Mapping

import numpy as np

from scheduling.amounts import Kind, Shape
from scheduling.fragmentation import Mix, Room, best_unit
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


def best_node(
    free: Free, shape: Shape, *, num_workers: int, nodes: IntArray, supply: Supply, mix: Mix
) -> tuple[int, int] | None:
    """The node of these that suits the gang best (by its place in `nodes`), and the device that a part of
    one should share. Nothing for parts of several devices: the measure knows one at a time.
    """
    if shape.is_fraction and num_workers > 1:
        return None
    room = Room(free.devices[nodes], free.cpus[nodes], free.memory[nodes], supply.type_of[nodes])
    return best_unit(room, _as_one(shape, num_workers), np.arange(len(nodes)), mix)


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
