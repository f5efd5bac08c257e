"""The jobs and nodes of a running case, and the verbs that change them. It knows no engine and no order of
events.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from scheduling.cases.fields import CaseError
from scheduling.cases.rows import MILLISECONDS, CaseJob, CaseNode
from scheduling.model import Job, JobId, JobPhase, Node, NodeName, Placement, Worker
from scheduling.placements import without


@dataclass(frozen=True, slots=True)
class Release:
    """Places of workers that leave in a shrink, and when they are gone."""

    at: int
    job: JobId
    places: Placement


class ClusterState:
    """Rows as they are now. Seconds in, milliseconds in the rows."""

    def __init__(self, nodes: Iterable[CaseNode]) -> None:
        nodes = tuple(nodes)
        self.nodes: dict[str, Node] = {node.row.name: node.row for node in nodes}
        self.jobs: dict[JobId, Job] = {}
        self._failed = {node.row.name for node in nodes if node.health == "failed"}
        self._drained = {node.row.name for node in nodes if node.health == "drained"}
        self._longest: dict[JobId, int | None] = {}
        self._finish_at: dict[JobId, int] = {}
        self._gone_at: dict[JobId, int] = {}
        self._releases: list[Release] = []

    def next_change(self) -> int | None:
        """The next second at which a job or a pod goes by itself."""
        times = [*self._finish_at.values(), *self._gone_at.values(), *(each.at for each in self._releases)]
        return min(times, default=None)

    def end_due(self, t: int) -> None:
        """What is over by now is gone. A job that ends well while it is told to leave has ended."""
        for name in [name for name, end in self._finish_at.items() if end <= t]:
            self.remove(name)
        for name in [name for name, end in self._gone_at.items() if end <= t]:
            self.wait_again(name)
        due = [each for each in self._releases if each.at <= t]
        self._releases = [each for each in self._releases if each.at > t]
        for release in due:
            self._change(release.job, releasing=without(self.jobs[release.job].releasing, release.places))

    def submit(self, job: CaseJob, t: int, *, place_in_line: int) -> None:
        """A new job waits. Jobs of one second are in line by their order in the case."""
        submitted_at_ms = t * MILLISECONDS + place_in_line
        self.jobs[job.row.id] = replace(job.row, submitted_at_ms=submitted_at_ms)
        self._longest[job.row.id] = job.longest_s

    def place(self, name: JobId, placement: Placement, t: int) -> None:
        """An attempt starts there."""
        self._change(
            name,
            phase=JobPhase.PLACED,
            placement=placement,
            placed_at_ms=t * MILLISECONDS,
            kept=(),
            num_missing=0,
        )
        longest_s = self._longest[name]
        if longest_s is not None:
            self._finish_at[name] = t + longest_s

    def place_on(self, name: JobId, nodes: Iterable[str], t: int) -> None:
        """The job runs on these nodes, one pod each, on their lowest free devices."""
        used = self._used()
        workers = []
        for node in nodes:
            worker = self._lowest_free(self.jobs[name], node, used)
            used.update({(node, device): self._device_milli(name) for device in worker.devices})
            workers.append(worker)
        self.place(name, tuple(workers), t)

    def evict(self, name: JobId, t: int, *, at_once: bool = False) -> None:
        """The job is told to leave; it is gone after its grace."""
        job = self.jobs[name]
        self._change(name, phase=JobPhase.LEAVING)
        self._gone_at[name] = t if at_once else t + job.grace_ms // MILLISECONDS

    def resize(self, name: JobId, placement: Placement, t: int) -> int:
        """An elastic job has these workers now; tells how many leave."""
        job = self.jobs[name]
        leaving = without(job.placement, placement)
        until = t + job.grace_ms // MILLISECONDS
        if leaving and until > t:
            self._releases.append(Release(until, name, leaving))
            self._change(name, releasing=job.releasing + leaving)
        self._change(name, placement=placement, num_missing=0)
        return len(leaving)

    def want(self, name: JobId, number: int) -> None:
        """An elastic job asks for that many, at least its least and at most its most."""
        job = self._job(name)
        if job.min_workers is None or job.max_workers is None:
            raise CaseError(name, "only an elastic job asks for another number of pods")
        self._change(name, num_workers=min(max(number, job.min_workers), job.max_workers))

    def finish_pods(self, name: JobId, nodes: tuple[str, ...], number: int) -> None:
        """Pods that finished well: those on the nodes named, else the first of the gang. With the last one
        that runs the job has ended.
        """
        job = self._job(name)
        done: list[Worker] = []
        for node in nodes or (None,) * number:
            there = [each for each in without(job.placement, done) if node in (None, each.node)]
            if not there:
                raise CaseError(name, "no such pod runs that could finish")
            done.append(there[0])
        left = without(job.placement, done)
        if not left:
            self.remove(name)
            return
        self._change(name, placement=left, **_sizes_without(job, len(done), num_left=len(left)))

    def restart(self, name: JobId, t: int) -> None:
        """All pods start anew; those on nodes where nothing may start are lost."""
        job = self._job(name)
        if job.phase is JobPhase.PLACED:
            self.place(name, job.placement, t)
            self._lose(name, [each for each in job.placement if not self.nodes[each.node].usable])

    def remove(self, name: JobId) -> None:
        """The job is gone, whatever it did."""
        self._forget_timers(name)
        self._releases = [each for each in self._releases if each.job != name]
        self.jobs.pop(name, None)

    def wait_again(self, name: JobId) -> None:
        """An attempt is over; the job waits with its first submit time."""
        self._forget_timers(name)
        self._releases = [each for each in self._releases if each.job != name]
        self._change(
            name, phase=JobPhase.WAITING, placement=(), placed_at_ms=None, releasing=(), num_missing=0
        )

    def set_health(self, op: str, nodes: Iterable[str]) -> None:
        """fail, recover, drain or undrain; pods on a node that fails are lost."""
        group = self._failed if op in ("fail", "recover") else self._drained
        for node in nodes:
            (group.add if op in ("fail", "drain") else group.discard)(NodeName(node))
            usable = node not in self._failed and node not in self._drained
            self.nodes[node] = replace(self.nodes[node], usable=usable)
            if op == "fail":
                self._lose_node(node)

    def keep(self, kept: Mapping[JobId, Placement]) -> None:
        """What is kept for each waiting job from now on."""
        for name in self.jobs:
            self._change(name, kept=kept.get(name, ()))

    def _lose_node(self, node: str) -> None:
        for name, job in list(self.jobs.items()):
            releasing = tuple(each for each in job.releasing if each.node != node)
            self._change(name, releasing=releasing)
            self._lose(name, [each for each in job.placement if each.node == node])

    def _lose(self, name: JobId, lost: list[Worker]) -> None:
        job = self.jobs[name]
        if lost and len(lost) == len(job.placement):
            self.wait_again(name)
        elif lost:
            missing = job.num_missing + len(lost)
            self._change(name, placement=without(job.placement, lost), num_missing=missing)

    def _job(self, name: JobId) -> Job:
        if name not in self.jobs:
            raise CaseError(name, "this job has ended, or is not complete")
        return self.jobs[name]

    def _change(self, name: JobId, **changes: object) -> None:
        self.jobs[name] = replace(self.jobs[name], **changes)  # type: ignore[arg-type]  # by name, checked by tests

    def _forget_timers(self, name: JobId) -> None:
        self._finish_at.pop(name, None)
        self._gone_at.pop(name, None)

    def _used(self) -> Counter[tuple[str, int]]:
        """Milli-devices that are held of each device."""
        used: Counter[tuple[str, int]] = Counter()
        for job in self.jobs.values():
            for worker in job.placement + job.releasing:
                used.update({(worker.node, device): self._device_milli(job.id) for device in worker.devices})
        return used

    def _device_milli(self, name: JobId) -> int:
        return min(self.jobs[name].accelerators_milli, 1000)

    def _lowest_free(self, job: Job, node: str, used: Counter[tuple[str, int]]) -> Worker:
        each, num = self._device_milli(job.id), -(-job.accelerators_milli // 1000)
        row = self.nodes[node]
        free = [device for device in range(row.num_devices) if used[node, device] + each <= 1000]
        if len(free) < num:
            raise CaseError(job.id, f"{node} has {len(free)} free devices, a pod of it needs {num}")
        return Worker(node=row.name, devices=tuple(free[:num]))


def _sizes_without(job: Job, num_done: int, *, num_left: int) -> dict[str, int]:
    """The sizes of a job that needs these pods no more; those that are left go on."""
    sizes = {"num_workers": max(job.num_workers - num_done, 1)}
    if job.min_workers is not None and job.max_workers is not None:
        sizes["min_workers"] = max(min(job.min_workers - num_done, num_left), 1)
        sizes["max_workers"] = max(job.max_workers - num_done, 1)
    return sizes
