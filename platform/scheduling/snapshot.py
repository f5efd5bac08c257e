"""The supply and the demand at one moment, in canonical order. The engine sees nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass

from scheduling.model import Job, Node, Queue


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Nodes, queues and jobs (waiting, placed and leaving). Build it with `Snapshot.of`: equal rows in any
    order give an equal snapshot, hence an equal plan.
    """

    nodes: tuple[Node, ...]
    queues: tuple[Queue, ...]
    jobs: tuple[Job, ...]
    levels: tuple[str, ...]  # topology levels from the widest to the node, for example zone, rack, node

    @classmethod
    def of(
        cls, *, nodes: Iterable[Node], queues: Iterable[Queue], jobs: Iterable[Job], levels: tuple[str, ...]
    ) -> "Snapshot":
        """A snapshot in canonical order (by name, path and id)."""
        return cls(
            nodes=tuple(sorted(nodes, key=lambda node: node.name)),
            queues=tuple(sorted(queues, key=lambda queue: queue.path)),
            jobs=tuple(sorted(jobs, key=lambda job: job.id)),
            levels=levels,
        )
