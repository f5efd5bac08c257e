"""openb's tasks placed by the engine itself: one `decide` for each arrival, packing against fragmentation.

The mix is what waits or runs at that moment: unlike the published policy it knows nothing of what will come.
"""

from collections.abc import Sequence
from dataclasses import replace

from scheduling.amounts import Shape
from scheduling.decide import decide
from scheduling.fragmentation import NO_DEVICE
from scheduling.model import (
    NODE_LEVEL,
    Job,
    JobId,
    JobPhase,
    Node,
    NodeName,
    Packing,
    Placement,
    Policy,
    Queue,
    QueuePath,
)
from scheduling.simulation.openb_trace import NodeRow
from scheduling.snapshot import Snapshot

_QUEUE = QueuePath("all")


class ByEngine:
    """The rule "what `decide` says", over a snapshot that goes from event to event."""

    def __init__(self, nodes: Sequence[NodeRow], *, packing: Packing = Packing.FRAGMENTATION) -> None:
        rows = [_node(number, row) for number, row in enumerate(nodes)]  # their names keep the order
        self._number = {row.name: number for number, row in enumerate(rows)}
        self._snapshot = Snapshot.of(nodes=rows, queues=[Queue(path=_QUEUE)], jobs=(), levels=(NODE_LEVEL,))
        self._policy = Policy(packing=packing)
        self._num_asked = 0
        self._open: tuple[Job, Placement] | None = None

    def choose(self, shape: Shape) -> tuple[int, int] | None:
        """Submits the task and looks where it would start. Unless that is carried out it is withdrawn."""
        self._num_asked += 1
        job = _job(shape, number=self._num_asked)
        plan = decide(self._snapshot.with_event(jobs=[job]), self._num_asked, self._policy)
        if not plan.starts:
            return None
        placement = plan.starts[0].placement
        self._open = job, placement
        return self._number[placement[0].node], placement[0].devices[0] if shape.is_fraction else NO_DEVICE

    def taken(self, node: int) -> None:
        """The task runs where it was to start."""
        assert self._open is not None
        job, placement = self._open
        assert self._number[placement[0].node] == node
        placed = replace(job, phase=JobPhase.PLACED, placement=placement, placed_at_ms=job.submitted_at_ms)
        self._snapshot = self._snapshot.with_event(jobs=[placed])


def _node(number: int, row: NodeRow) -> Node:
    return Node(
        name=NodeName(f"{number:04d}-{row.name}"),
        domains={},
        accelerator_type=row.model,
        num_devices=row.num_devices,
        links=("",) * row.num_devices,
        cpus_milli=row.cpus_milli,
        memory_bytes=row.memory_bytes,
    )


def _job(shape: Shape, *, number: int) -> Job:
    return Job(
        id=JobId(f"{number:06d}"),
        queue=_QUEUE,
        priority=0,
        submitted_at_ms=number,
        num_workers=1,
        accelerators_milli=shape.num_devices * shape.device_milli,
        cpus_milli=shape.cpus_milli,
        memory_bytes=shape.memory_bytes,
    )
