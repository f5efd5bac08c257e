"""The openb trace: Alibaba's cluster of 2023 with parts of devices, and the published experiment's arrivals.

The experiment is that of Weng et al., USENIX ATC'23, section 6, by the authors' public simulator
(hkust-adsl/kubernetes-scheduler-simulator): nodes with accelerators only, in an order drawn per seed; all
tasks shuffled, then tasks drawn with replacement until 130 % of the devices are asked for. Nobody leaves.
"""

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scheduling.amounts import DEVICE_MILLI, Kind, Shape
from scheduling.fragmentation import Mix, Room
from scheduling.supply import IntArray

PUBLISHED_POPULARITY = 0.95  # the commonest shapes that make up this share of the tasks
FIRST_SEED, NUM_SEEDS = 42, 10
ARRIVED = 1.3


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node of the trace."""

    name: str
    cpus_milli: int
    memory_bytes: int
    num_devices: int
    model: str


@dataclass(frozen=True, slots=True)
class Trace:
    """Nodes in the file's order, the different shapes of tasks, and the shape of each task by name."""

    nodes: tuple[NodeRow, ...]
    shapes: tuple[Shape, ...]
    tasks: IntArray  # indices of shapes

    @property
    def capacity_milli(self) -> int:
        """All devices."""
        return DEVICE_MILLI * sum(node.num_devices for node in self.nodes)

    def demand_milli(self) -> IntArray:
        """What each shape takes of devices."""
        return np.array([shape.num_devices * shape.device_milli for shape in self.shapes], dtype=np.int64)


def read(directory: Path, *, with_cpu_nodes: bool = False) -> Trace:
    """The trace from its two files. Nodes without accelerators are no part of the published experiment."""
    with (directory / "nodes.csv").open(newline="") as file:
        nodes = [_node(row) for row in csv.DictReader(file)]
    with (directory / "pods.csv").open(newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["name"])
    each = [_shape(row) for row in rows]
    shapes = tuple(sorted(set(each), key=_by_amounts))
    index = {shape: number for number, shape in enumerate(shapes)}
    kept = tuple(node for node in nodes if with_cpu_nodes or node.num_devices)
    return Trace(kept, shapes, np.array([index[shape] for shape in each], dtype=np.int64))


def arrivals(trace: Trace, *, seed: int, arrived: float = ARRIVED) -> IntArray:
    """The shapes that arrive, in turn: every task once, then drawn ones.

    As published, the last draw is judged by what it takes of one device.
    """
    drawing = np.random.default_rng(seed)
    order = [int(shape) for shape in drawing.permutation(trace.tasks)]
    demand, sizes = trace.demand_milli(), [shape.device_milli for shape in trace.shapes]
    left = arrived * trace.capacity_milli - int(demand[order].sum())
    while True:
        shape = int(trace.tasks[drawing.integers(len(trace.tasks))])
        if sizes[shape] > left:
            return np.array(order, dtype=np.int64)
        left -= int(demand[shape])
        order.append(shape)


def node_order(trace: Trace, *, seed: int) -> tuple[NodeRow, ...]:
    """The nodes as the seed orders them: the first of equally good ones is taken."""
    return tuple(trace.nodes[at] for at in np.random.default_rng(1000 + seed).permutation(len(trace.nodes)))


def room_of(nodes: Sequence[NodeRow]) -> Room:
    """All of these nodes free."""
    width = max(node.num_devices for node in nodes)
    counts = np.array([node.num_devices for node in nodes], dtype=np.int64)
    return Room(
        devices=(np.arange(width) < counts[:, None]) * np.int64(DEVICE_MILLI),
        cpus=np.array([node.cpus_milli for node in nodes], dtype=np.int64),
        memory=np.array([node.memory_bytes for node in nodes], dtype=np.int64),
        type_of=np.zeros(len(nodes), dtype=np.int64),
    )


def published_mix(trace: Trace) -> Mix:
    """The mix that the published policy knows: the commonest shapes of the whole trace, memory left out."""
    counts = Counter(_without_memory(trace.shapes[task]) for task in trace.tasks.tolist())
    ranked = sorted(counts.items(), key=lambda item: (-item[1], _by_amounts(item[0])))
    before = np.cumsum([0, *(count for _, count in ranked)])[:-1]
    kept = [item for item, sum_before in zip(ranked, before, strict=True) if sum_before < _most(trace)]
    return Mix.of([kind_of(shape) for shape, _ in kept], [count for _, count in kept])


def kind_of(shape: Shape) -> Kind:
    """One worker of a shape, anywhere."""
    return Kind(shape=shape, types=(), required=())


def _most(trace: Trace) -> float:
    return PUBLISHED_POPULARITY * len(trace.tasks)


def _node(row: dict[str, str]) -> NodeRow:
    return NodeRow(
        name=row["sn"],
        cpus_milli=int(row["cpu_milli"]),
        memory_bytes=int(row["memory_mib"]) << 20,
        num_devices=int(row["gpu"]),
        model=row["model"],
    )


def _shape(row: dict[str, str]) -> Shape:
    return Shape(
        num_devices=int(row["num_gpu"]),
        device_milli=int(row["gpu_milli"]),
        cpus_milli=int(row["cpu_milli"]),
        memory_bytes=int(row["memory_mib"]) << 20,
    )


def _without_memory(shape: Shape) -> Shape:
    return Shape(shape.num_devices, shape.device_milli, shape.cpus_milli, 0)


def _by_amounts(shape: Shape) -> tuple[int, int, int, int]:
    return shape.cpus_milli, shape.num_devices, shape.device_milli, shape.memory_bytes
