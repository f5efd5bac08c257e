"""The rules that place openb's tasks: random, best fit and fragmentation gradient as published, and our own.

Each answers: which node, and which device for a part of one. What the published ones round, they round here.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from scheduling.amounts import DEVICE_MILLI, Shape
from scheduling.fragmentation import IMPOSSIBLE, NO_DEVICE, Gradients, Mix, Room, fragmentation, loss
from scheduling.supply import BoolArray, IntArray

WORST = np.iinfo(np.int64).min
_LARGEST_NODE = (128_000, 8_000)  # milli-CPUs and milli-devices, by which best fit weighs


class Rule(Protocol):
    """How to place one task after the other in a room that the caller changes."""

    def choose(self, shape: Shape) -> tuple[int, int] | None:
        """The node for the task and the device to share there (`NO_DEVICE`: whole ones, or none at all)."""

    def taken(self, node: int) -> None:
        """What was chosen last was carried out: the room of this node is another one now."""


class Published(Gradients):
    """Fragmentation gradient descent as its authors run it: scores from 0 to 100, cut to integers."""

    def __init__(self, room: Room, mix: Mix) -> None:
        self._total = mix.total
        super().__init__(room, mix, measure=fragmentation)

    def _graded(self, increase: IntArray) -> IntArray:
        devices = increase / (self._total * DEVICE_MILLI)
        return -np.floor(100 / (1 + np.exp(devices))).astype(np.int64)


class ByGradient:
    """The node whose loss grows least."""

    def __init__(self, gradients: Gradients, num_nodes: int) -> None:
        self._gradients = gradients
        self._nodes = np.arange(num_nodes)

    def choose(self, shape: Shape) -> tuple[int, int] | None:
        """The first of the nodes where least is added."""
        return self._gradients.best(shape, self._nodes)

    def taken(self, node: int) -> None:
        """This node is reckoned anew when it is asked for."""
        self._gradients.changed(np.array([node]))


class ByScore:
    """The node with the highest score, of those that hold the task; the fullest device that suffices."""

    def __init__(self, room: Room, score: Callable[[Room, Shape], IntArray]) -> None:
        self._room = room
        self._score = score

    def choose(self, shape: Shape) -> tuple[int, int] | None:
        """The first of the best nodes."""
        able = fits(self._room, shape)
        if not able.any():
            return None
        node = int(np.argmax(np.where(able, self._score(self._room, shape), WORST)))
        return node, _fullest(self._room, node, shape)

    def taken(self, node: int) -> None:
        """Nothing is remembered."""


def best_fit(room: Room, shape: Shape) -> IntArray:
    """How little is left, devices and processors weighed alike; cut to an integer from 0 to 100."""
    cpus = (room.cpus - shape.cpus_milli) / _LARGEST_NODE[0]
    devices = (room.devices.sum(axis=1) - shape.num_devices * shape.device_milli) / _LARGEST_NODE[1]
    score: IntArray = np.floor((1 - 0.5 * cpus - 0.5 * devices) * 100).astype(np.int64)
    return score


def random_score(seed: int) -> Callable[[Room, Shape], IntArray]:
    """A draw for each node and task."""
    drawing = np.random.default_rng(seed)
    return lambda room, _: drawing.permutation(len(room.cpus))


def rule_of(name: str, room: Room, *, mix: Mix, seed: int) -> Rule:
    """The rule of this name on a room."""
    if name == "random":
        return ByScore(room, random_score(seed))
    if name == "best_fit":
        return ByScore(room, best_fit)
    gradients = Published(room, mix) if name == "fgd" else Gradients(room, mix, measure=loss)
    return ByGradient(gradients, len(room.cpus))


def take(room: Room, shape: Shape, node: int, device: int) -> None:
    """The task takes its part of the room."""
    room.cpus[node] -= shape.cpus_milli
    room.memory[node] -= shape.memory_bytes
    if device != NO_DEVICE:
        room.devices[node, device] -= shape.device_milli
    elif shape.num_devices:
        whole = np.flatnonzero(room.devices[node] == DEVICE_MILLI)[: shape.num_devices]
        room.devices[node, whole] = 0


def fits(room: Room, shape: Shape) -> BoolArray:
    """Which nodes hold the task."""
    able = (room.cpus >= shape.cpus_milli) & (room.memory >= shape.memory_bytes)
    if shape.num_devices:
        able &= (room.devices >= shape.device_milli).sum(axis=1) >= shape.num_devices
    return able


def _fullest(room: Room, node: int, shape: Shape) -> int:
    if not shape.is_fraction:
        return NO_DEVICE
    left = room.devices[node]
    return int(np.argmin(np.where(left >= shape.device_milli, left, IMPOSSIBLE)))
