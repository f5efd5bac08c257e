"""The supply and the demand at one moment, in canonical order. The engine sees nothing else."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from scheduling.books import Books
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
    _books: list[Books] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def books(self) -> Books:
        """What the rows imply: worked out when first asked for, or handed on from the snapshot before."""
        if not self._books:
            self._books.append(Books(self))
        return self._books[0]

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
        rows, changes = list(self.jobs), list[tuple[Job | None, Job | None]]()
        for job in jobs:
            at = bisect_left(rows, job.id, key=_id)
            is_known = at < len(rows) and rows[at].id == job.id
            changes.append((rows[at] if is_known else None, job))
            rows[at : at + is_known] = [job]
        for name in gone:
            at = bisect_left(rows, name, key=_id)
            if at < len(rows) and rows[at].id == name:
                changes.append((rows.pop(at), None))
        after = Snapshot(
            nodes=self.nodes if nodes is None else tuple(sorted(nodes, key=lambda node: node.name)),
            queues=self.queues if queues is None else tuple(sorted(queues, key=lambda queue: queue.path)),
            jobs=tuple(rows),
            levels=self.levels,
            windows=self.windows if windows is None else tuple(sorted(windows, key=lambda each: each.name)),
        )
        if self._books:
            after._books.append(self._books[0].after(after, changes))
        return after


def _id(job: Job) -> JobId:
    return job.id
