"""The nodes as columns: what they have, what is free on them, and what a placement takes of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scheduling.amounts import DEVICE_MILLI, Shape
from scheduling.model import Node, NodeName, Placement

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a placement takes, as columns: one row per worker, and one row per device of each worker."""

    nodes: IntArray
    cpus_milli: int
    memory_bytes: int
    device_nodes: IntArray
    device_indices: IntArray
    device_milli: int

    def touched(self) -> IntArray:
        """Its nodes, each once where that matters little: workers of one node stand side by side."""
        nodes = self.nodes
        if nodes.size < 2:
            return nodes
        return np.asarray(nodes[np.append(True, nodes[1:] != nodes[:-1])])


class Free:
    """What is free: `devices[node, index]` and `cpus[node]` in milli-units, `memory[node]` in bytes.

    Taking the same thing twice gives a number below zero, which is right for what is promised before it is
    free. `whole[node]` counts devices that are free altogether; `open[node]` says whether the node may be
    used at all. `changes` lists the nodes of every change, for those who count on them (`fits`).
    """

    __slots__ = ("changes", "cpus", "devices", "fits", "memory", "open", "origin", "whole")

    def __init__(
        self,
        *,
        devices: IntArray,
        cpus: IntArray,
        memory: IntArray,
        open_nodes: BoolArray,
        whole: IntArray | None = None,
    ) -> None:
        self.devices = devices
        self.cpus = cpus
        self.memory = memory
        self.open = open_nodes
        self.whole: IntArray = (devices == DEVICE_MILLI).sum(axis=1) if whole is None else whole
        self.changes: list[IntArray] = []
        self.fits: dict[object, Any] = {}  # of scheduling.fits, by what they count
        self.origin: Free | None = None  # whose counts may be copied as long as it has not changed

    def copy(self) -> "Free":
        """An independent copy (which nodes are open never changes, so that is shared)."""
        copy = Free(
            devices=self.devices.copy(),
            cpus=self.cpus.copy(),
            memory=self.memory.copy(),
            open_nodes=self.open,
            whole=self.whole.copy(),
        )
        copy.origin = self
        return copy

    def take(self, footprint: Footprint, *, times: int = 1) -> None:
        """Take a footprint; `times=-1` gives it back."""
        devices = (footprint.device_nodes, footprint.device_indices)
        if footprint.device_milli == DEVICE_MILLI:  # whole devices: each is named once
            self.devices[devices] -= times * DEVICE_MILLI
        else:
            np.subtract.at(self.devices, devices, times * footprint.device_milli)
        if footprint.cpus_milli:
            np.subtract.at(self.cpus, footprint.nodes, times * footprint.cpus_milli)
        if footprint.memory_bytes:
            np.subtract.at(self.memory, footprint.nodes, times * footprint.memory_bytes)
        self.recount(footprint.touched())

    def give(self, footprint: Footprint) -> None:
        """Give a footprint back."""
        self.take(footprint, times=-1)

    def has(self, footprint: Footprint) -> bool:
        """Whether all of a footprint is free: taking it leaves nothing that it takes below zero."""
        self.take(footprint)
        devices = self.devices[footprint.device_nodes, footprint.device_indices]
        lacks_devices = bool((devices < 0).any())
        lacks_cpus = footprint.cpus_milli > 0 and bool((self.cpus[footprint.nodes] < 0).any())
        lacks_memory = footprint.memory_bytes > 0 and bool((self.memory[footprint.nodes] < 0).any())
        self.give(footprint)
        return not (lacks_devices or lacks_cpus or lacks_memory)

    def recount(self, nodes: IntArray) -> None:
        """Count the whole devices of these nodes anew."""
        self.whole[nodes] = (self.devices[nodes] == DEVICE_MILLI).sum(axis=1)
        self.changes.append(nodes)

    def become_least(self, one: "Free", other: "Free", *, nodes: IntArray) -> None:
        """On these nodes, be the smaller of two: what is free by both accounts."""
        self.devices[nodes] = np.minimum(one.devices[nodes], other.devices[nodes])
        self.cpus[nodes] = np.minimum(one.cpus[nodes], other.cpus[nodes])
        self.memory[nodes] = np.minimum(one.memory[nodes], other.memory[nodes])
        self.recount(nodes)


class Supply:
    """The nodes in topology order (domains are contiguous, names break ties), with their capacity."""

    def __init__(self, nodes: Iterable[Node], *, levels: tuple[str, ...]) -> None:
        def path(node: Node) -> tuple[str, ...]:
            return (*(node.domains.get(level, "") for level in levels), node.name)

        self.nodes = tuple(sorted(nodes, key=path))
        self.levels = levels
        self.names: tuple[NodeName, ...] = tuple(node.name for node in self.nodes)
        self.index = {name: position for position, name in enumerate(self.names)}
        self.types = tuple(sorted({node.accelerator_type for node in self.nodes}))
        type_index = {name: position for position, name in enumerate(self.types)}
        self.type_of: IntArray = np.array(
            [type_index[node.accelerator_type] for node in self.nodes], dtype=np.int64
        )
        self.num_devices: IntArray = np.array([node.num_devices for node in self.nodes], dtype=np.int64)
        devices = np.bincount(self.type_of, weights=self.num_devices, minlength=len(self.types))
        self.capacities = tuple(int(number) * DEVICE_MILLI for number in devices)  # of each type
        self.width = max((node.num_devices for node in self.nodes), default=0)

    def capacity(self, *, only_usable: bool) -> Free:
        """Everything free, on the usable nodes or (as if all were healthy) on all of them."""
        usable = np.array([node.usable or not only_usable for node in self.nodes], dtype=np.bool_)
        present = np.arange(self.width) < self.num_devices[:, None]
        cpus = np.array([node.cpus_milli for node in self.nodes], dtype=np.int64)
        memory = np.array([node.memory_bytes for node in self.nodes], dtype=np.int64)
        return Free(
            devices=(present & usable[:, None]) * np.int64(DEVICE_MILLI),
            cpus=cpus * usable,
            memory=memory * usable,
            open_nodes=usable,
        )

    def type_at(self, placement: Placement) -> int:
        """The accelerator type (by number) on which a gang stands; -1 if its nodes are gone."""
        numbers = (self.index.get(worker.node) for worker in placement)
        return next((int(self.type_of[number]) for number in numbers if number is not None), -1)

    def footprint(self, placement: Placement, *, shape: Shape) -> Footprint:
        """A placement's columns. Nodes that are gone and devices that the node no longer has are left out."""
        known = [
            (self.index[worker.node], worker.devices) for worker in placement if worker.node in self.index
        ]
        rows = [(node, device) for node, devices in known for device in devices if 0 <= device < self.width]
        table = np.array(rows, dtype=np.int64).reshape(-1, 2)
        return Footprint(
            nodes=np.array([node for node, _ in known], dtype=np.int64),
            cpus_milli=shape.cpus_milli,
            memory_bytes=shape.memory_bytes,
            device_nodes=table[:, 0],
            device_indices=table[:, 1],
            device_milli=shape.device_milli,
        )
