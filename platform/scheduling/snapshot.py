"""The supply and the demand at one moment, in canonical order. The engine sees nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass

from scheduling.model import Job, JobId, Node, Queue, Window


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Nodes, queues and jobs (waiting, placed and leaving). Build it with `Snapshot.of`: equal rows in any
    order give an equal snapshot, hence an equal plan.
    """

    nodes: tuple[Node, ...]
    queues: tuple[Queue, ...]
    jobs: tuple[Job, ...]
    levels: tuple[str, ...]  # topology levels from the widest to the node, for example zone, rack, node
    windows: tuple[Window, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        nodes: Iterable[Node],
        queues: Iterable[Queue],
        jobs: Iterable[Job],
        levels: tuple[str, ...],
        windows: Iterable[Window] = (),
    ) -> "Snapshot":
        """A snapshot in canonical order (by name, path and id)."""
        return cls(
            nodes=tuple(sorted(nodes, key=lambda node: node.name)),
            queues=tuple(sorted(queues, key=lambda queue: queue.path)),
            jobs=tuple(sorted(jobs, key=lambda job: job.id)),
            levels=levels,
            windows=tuple(sorted(windows, key=lambda window: window.name)),
        )

    def with_event(
        self,
        *,
        jobs: Iterable[Job] = (),
        gone: Iterable[JobId] = (),
        nodes: Iterable[Node] | None = None,
        queues: Iterable[Queue] | None = None,
        windows: Iterable[Window] | None = None,
    ) -> "Snapshot":
        """This snapshot with these jobs new or changed, those gone, and, where given, all nodes, queues or
        windows replaced.
        """
        rows = {job.id: job for job in self.jobs} | {job.id: job for job in jobs}
        left = set(gone)
        return Snapshot.of(
            nodes=self.nodes if nodes is None else nodes,
            queues=self.queues if queues is None else queues,
            jobs=(job for name, job in rows.items() if name not in left),
            levels=self.levels,
            windows=self.windows if windows is None else windows,
        )
