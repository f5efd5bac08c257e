"""What must hold of every plan. Written row by row, without the engine's columns, so that it checks them too.

`check` returns the violations as sentences; none means that the plan may be carried out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from scheduling.amounts import DEVICE_MILLI, Shape, held_milli, shape_of
from scheduling.model import (
    LINK_LEVEL,
    NODE_LEVEL,
    EvictionKind,
    Job,
    JobId,
    JobPhase,
    Node,
    NodeName,
    Placement,
    Plan,
    QueuePath,
    Worker,
)
from scheduling.snapshot import Snapshot


def check(snapshot: Snapshot, plan: Plan) -> list[str]:
    """What is wrong with gangs, places, things promised twice, limits, victims or reasons."""
    books = _Books(snapshot, plan)
    return [
        *books.check_gangs(),
        *books.check_nothing_twice(),
        *books.check_limits(),
        *books.check_victims(),
        *books.check_reasons(),
    ]


class _Books:
    """The rows by name, before and after the plan."""

    def __init__(self, snapshot: Snapshot, plan: Plan) -> None:
        self.plan = plan
        self.levels = snapshot.levels
        self.nodes = {node.name: node for node in snapshot.nodes}
        self.jobs = {job.id: job for job in snapshot.jobs}
        self.queues = {queue.path: queue for queue in snapshot.queues}
        self.starts = {start.job: start.placement for start in plan.starts}
        self.keeps = {keep.job: keep.placement for keep in plan.keeps}
        self.evicted = {eviction.job for eviction in plan.evictions}
        self.staying = {job.id: job for job in snapshot.jobs if job.phase is JobPhase.PLACED}
        self.staying = {name: job for name, job in self.staying.items() if name not in self.evicted}
        self.leaving = [job for job in snapshot.jobs if self._leaves(job)]

    def check_gangs(self) -> Iterator[str]:
        """Each start and each keep is a whole gang on a place that its job allows."""
        for name, placement in [*self.starts.items(), *self.keeps.items()]:
            job = self.jobs.get(name)
            if job is None or job.phase is not JobPhase.WAITING:
                yield f"{name} does not wait, yet devices are given to it"
            else:
                yield from (f"{name}: {problem}" for problem in self._gang_problems(job, placement))
        yield from (f"{name} starts and keeps" for name in self.starts.keys() & self.keeps.keys())

    def check_nothing_twice(self) -> Iterator[str]:
        """Starts fit beside all that hold devices now; starts and keeps fit when those who leave are gone."""
        now = [*_held(self.staying.values()), *_held(self.leaving), *self._given(self.starts)]
        later = [*_held(self.staying.values()), *self._given(self.starts), *self._given(self.keeps)]
        touched_now = {worker.node for placement in self.starts.values() for worker in placement}
        touched = touched_now | {worker.node for placement in self.keeps.values() for worker in placement}
        yield from (f"now: {problem}" for problem in self._overuse(now, touched_now))
        yield from (f"later: {problem}" for problem in self._overuse(later, touched))

    def check_limits(self) -> Iterator[str]:
        """No queue that a start or a keep goes to, nor any above it, is over its limit, now or later."""
        staying, leaving = self._usage(self.staying.values()), self._usage(self.leaving)
        starting, keeping = self._requested(self.starts), self._requested(self.keeps)
        for path, queue in self.queues.items():
            limit = queue.limit_milli
            if limit is None:
                continue
            held = staying[path] + starting[path]
            if starting[path] and held + leaving[path] > limit:
                yield f"{path}: {held + leaving[path]} milli are used, the limit is {limit}"
            if starting[path] + keeping[path] and held + keeping[path] > limit:
                yield f"{path}: {held + keeping[path]} milli are promised, the limit is {limit}"

    def check_victims(self) -> Iterator[str]:
        """Every victim may be evicted for its beneficiary, and what it frees is kept for that one."""
        for eviction in self.plan.evictions:
            victim, winner = self.jobs[eviction.job], self.jobs[eviction.beneficiary]
            pair = f"{victim.id} for {winner.id}"
            if victim.phase is not JobPhase.PLACED or not victim.preemptible:
                yield f"{pair}: may not be evicted"
            if winner.id not in self.keeps:
                yield f"{pair}: nothing is kept"
            is_own = eviction.kind is EvictionKind.PREEMPT
            if is_own != (victim.queue == winner.queue):
                yield f"{pair}: not by that right"
            if is_own and victim.priority >= winner.priority:
                yield f"{pair}: its priority is not lower"
        yield from self._unlawful_reclaims()

    def check_reasons(self) -> Iterator[str]:
        """Each job that waits afterwards has one reason, and nobody else has one."""
        waiting = {job.id for job in self.jobs.values() if job.phase is JobPhase.WAITING} - self.starts.keys()
        yield from (f"{name} waits without a reason" for name in sorted(waiting - self.plan.reasons.keys()))
        yield from (f"{name} has a reason" for name in sorted(self.plan.reasons.keys() - waiting))

    def _leaves(self, job: Job) -> bool:
        return job.phase is JobPhase.LEAVING or job.id in self.evicted

    def _given(self, placements: Mapping[JobId, Placement]) -> Iterator[tuple[Worker, Shape]]:
        for name, placement in placements.items():
            if name in self.jobs:
                yield from ((worker, shape_of(self.jobs[name])) for worker in placement)

    def _gang_problems(self, job: Job, placement: Placement) -> Iterator[str]:
        if len(placement) != job.num_workers:
            yield f"{len(placement)} of {job.num_workers} workers"
        for worker in placement:
            yield from self._worker_problems(job, worker)
        nodes = [self.nodes[worker.node] for worker in placement if worker.node in self.nodes]
        if len({node.accelerator_type for node in nodes}) > 1 and (job.accelerators_milli or job.types):
            yield "on several accelerator types"
        for rule in job.topology:
            domains = {place for worker in placement for place in self._domains(worker, rule.level)}
            is_void = rule.level == LINK_LEVEL and not job.accelerators_milli
            if not (rule.preferred or is_void) and (len(domains) != 1 or None in domains):
                yield f"not inside one {rule.level}"

    def _worker_problems(self, job: Job, worker: Worker) -> Iterator[str]:
        node = self.nodes.get(worker.node)
        if node is None or not node.usable:
            yield f"{worker.node} cannot be used"
            return
        if job.types and node.accelerator_type not in job.types:
            yield f"{worker.node} is of a type that it does not allow"
        if len(set(worker.devices)) != shape_of(job).num_devices:
            yield f"{len(set(worker.devices))} devices for a worker"
        if any(device not in range(node.num_devices) for device in worker.devices):
            yield f"{worker.node} has no such device"

    def _domains(self, worker: Worker, level: str) -> Iterator[object]:
        node = self.nodes.get(worker.node)
        if node is None:
            yield None
        elif level == LINK_LEVEL:
            yield from (_link(node, device) for device in worker.devices)
        elif level == NODE_LEVEL:
            yield node.name
        elif level not in node.domains:
            yield None
        else:
            wider = self.levels[: self.levels.index(level)] if level in self.levels else ()
            yield (*(node.domains.get(name) for name in wider), node.domains[level])

    def _overuse(self, given: Iterable[tuple[Worker, Shape]], touched: set[NodeName]) -> Iterator[str]:
        devices: Counter[tuple[NodeName, int]] = Counter()
        cpus: Counter[NodeName] = Counter()
        memory: Counter[NodeName] = Counter()
        for worker, shape in given:
            cpus[worker.node] += shape.cpus_milli
            memory[worker.node] += shape.memory_bytes
            devices.update({(worker.node, device): shape.device_milli for device in set(worker.devices)})
        for (name, device), milli in devices.items():
            if name in touched and milli > DEVICE_MILLI:
                yield f"device {device} of {name} is given twice"
        for node in (self.nodes[name] for name in sorted(touched) if name in self.nodes):
            if cpus[node.name] > node.cpus_milli or memory[node.name] > node.memory_bytes:
                yield f"{node.name} has too few processors or too little memory"

    def _usage(self, jobs: Iterable[Job]) -> dict[QueuePath, int]:
        usage: dict[QueuePath, int] = defaultdict(int)
        for job in jobs:
            for path in self._upwards(job.queue):
                usage[path] += held_milli(job)
        return usage

    def _requested(self, placements: Mapping[JobId, Placement]) -> dict[QueuePath, int]:
        requested: dict[QueuePath, int] = defaultdict(int)
        for job in (self.jobs[name] for name in placements if name in self.jobs):
            for path in self._upwards(job.queue):
                requested[path] += job.total_milli
        return requested

    def _upwards(self, path: QueuePath) -> list[QueuePath]:
        chain: list[QueuePath] = []
        step: QueuePath | None = path
        while step is not None and step not in chain:
            chain.append(step)
            step = self.queues[step].parent if step in self.queues else None
        return chain

    def _unlawful_reclaims(self) -> Iterator[str]:
        """A claimant's queue ends within its guarantee; a victim's is above its own until the last one."""
        reclaims = [each for each in self.plan.evictions if each.kind is EvictionKind.RECLAIM]
        claimants = {each.beneficiary: self.jobs[each.beneficiary] for each in reclaims}
        for path in sorted({job.queue for job in claimants.values()}):
            wanted = [job.total_milli for job in claimants.values() if job.queue == path]
            yield from self._claims_beyond(path, wanted)
        for path in sorted({self.jobs[each.job].queue for each in reclaims}):
            victims = [
                held_milli(self.jobs[each.job]) for each in reclaims if self.jobs[each.job].queue == path
            ]
            if sum(victims) - max(victims) >= self._most_used(path) - self._guarantee(path):
                yield f"{path} loses more than it holds beyond its guarantee"

    def _claims_beyond(self, path: QueuePath, wanted: list[int]) -> Iterator[str]:
        staying = self._usage(self.staying.values())[path]
        before = staying + self._usage(self.leaving)[path]
        if before + max(wanted) > self._guarantee(path) or staying + sum(wanted) > self._guarantee(path):
            yield f"{path} reclaims beyond its guarantee"

    def _most_used(self, path: QueuePath) -> int:
        """What the queue holds at most while the plan is made: with all starts, also those that gave way."""
        evicted = [self.jobs[name] for name in self.evicted]
        held = self._usage([*self.staying.values(), *evicted])[path]
        gave_way = sum(
            self.jobs[n].total_milli for n in self.plan.gave_way if path in self._upwards(self.jobs[n].queue)
        )
        return held + self._requested(self.starts)[path] + gave_way

    def _guarantee(self, path: QueuePath) -> int:
        """The queue's own, or what its children are guaranteed if that is more."""
        own = self.queues[path].guarantee_milli if path in self.queues else 0
        children = [queue.path for queue in self.queues.values() if queue.parent == path]
        return max(own, sum(self._guarantee(child) for child in children))


def _held(jobs: Iterable[Job]) -> Iterator[tuple[Worker, Shape]]:
    for job in jobs:
        yield from ((worker, shape_of(job)) for worker in job.placement)


def _link(node: Node, device: int) -> str | None:
    return (node.links[device] or None) if device < len(node.links) else None
