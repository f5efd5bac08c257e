"""What must hold of every plan. Written row by row, without the engine's columns, so that it checks them too.

`check` returns the violations as sentences; none means that the plan may be carried out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from scheduling.amounts import DEVICE_MILLI, Shape, held_milli, shape_of
from scheduling.conditions import Movement, unmet
from scheduling.model import (
    LINK_LEVEL,
    NODE_LEVEL,
    Evict,
    EvictionKind,
    Growth,
    Job,
    JobId,
    JobPhase,
    Node,
    NodeName,
    Order,
    Placement,
    Plan,
    QueuePath,
    Repair,
    Resize,
    Worker,
)
from scheduling.placements import without
from scheduling.sizes import step_of
from scheduling.snapshot import Snapshot


def check(snapshot: Snapshot, plan: Plan, *, now_ms: int | None = None) -> list[str]:
    """What is wrong with gangs, places, things promised twice, limits, victims, reasons or conditions.

    Without the moment of the plan, windows and run times are not looked at.
    """
    books = _Books(snapshot, plan)
    return [
        *books.check_gangs(),
        *books.check_changes(),
        *books.check_nothing_twice(),
        *books.check_limits(),
        *books.check_victims(),
        *books.check_reasons(),
        *unmet(books.movement(snapshot), now_ms=now_ms),
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
        changes: list[Resize | Repair] = [*plan.resizes, *plan.repairs]
        self.changes = {change.job: change.placement for change in changes}
        self.after = {name: self.changes.get(name, job.placement) for name, job in self.staying.items()}
        self.joining = {
            name: without(self.changes[name], job.placement)
            for name, job in self.staying.items()
            if name in self.changes
        }
        self.leaving = {job.id: gone for job in snapshot.jobs if (gone := self._leavers(job))}

    def movement(self, snapshot: Snapshot) -> Movement:
        """Who holds what, for the conditions that need no more."""
        return Movement(
            snapshot=snapshot,
            plan=self.plan,
            staying=self.after,
            leaving=self.leaving,
            starting=self.starts,
            joining=self.joining,
            keeping=self.keeps,
        )

    def check_gangs(self) -> Iterator[str]:
        """Each start and each keep is a whole gang on a place that its job allows."""
        for name, placement in [*self.starts.items(), *self.keeps.items()]:
            job = self.jobs.get(name)
            if job is not None and name in self.keeps and self._awaits_members(job):
                whole = self.after.get(name, ()) + placement
                yield from (f"{name}: {problem}" for problem in self._place_problems(job, whole, placement))
            elif job is None or job.phase is not JobPhase.WAITING:
                yield f"{name} does not wait, yet devices are given to it"
            else:
                yield from (f"{name}: {problem}" for problem in self._gang_problems(job, placement))
        yield from (f"{name} starts and keeps" for name in self.starts.keys() & self.keeps.keys())

    def check_changes(self) -> Iterator[str]:
        """Only running gangs change, to a size and a place that are allowed; those repaired lose nobody."""
        for name, placement in self.changes.items():
            job = self.staying.get(name)
            if job is None:
                yield f"{name} does not run, yet it changes"
                continue
            yield from (f"{name}: {problem}" for problem in self._size_problems(job, placement))
            joining = self.joining[name]
            yield from (f"{name}: {problem}" for problem in self._place_problems(job, placement, joining))
        for change in self.plan.repairs:
            job = self.jobs[change.job]
            if not job.num_missing or without(job.placement, change.placement):
                yield f"{change.job} is not repaired"
        twice = {change.job for change in self.plan.repairs} & {change.job for change in self.plan.resizes}
        yield from (f"{name} changes twice" for name in sorted(twice))

    def check_nothing_twice(self) -> Iterator[str]:
        """Starts and joining workers fit beside all that hold devices now; these and keeps fit when those who
        leave are gone.
        """
        held = {name: job.placement for name, job in self.staying.items()}
        now = [*self._given(held), *self._given(self.leaving, but=held)]
        now += [*self._given(self.starts), *self._given(self.joining)]
        later = [*self._given(self.after), *self._given(self.starts), *self._given(self.keeps)]
        touched_now = _nodes_of(self.starts) | _nodes_of(self.joining)
        yield from (f"now: {problem}" for problem in self._overuse(now, touched_now))
        yield from (
            f"later: {problem}" for problem in self._overuse(later, touched_now | _nodes_of(self.keeps))
        )

    def check_limits(self) -> Iterator[str]:
        """No queue that a start, a joining worker or a keep goes to, nor any above it, is over its limit, now
        or later.
        """
        staying, leaving = self._usage(self.after), self._usage(self.leaving)
        starting, keeping = self._usage(self.starts), self._usage(self.keeps)
        joining = self._usage(self.joining)
        for path, queue in self.queues.items():
            limit, granted = queue.limit_milli, starting[path] + joining[path]
            if limit is None:
                continue
            held = staying[path] + starting[path]
            if granted and held + leaving[path] > limit:
                yield f"{path}: {held + leaving[path]} milli are used, the limit is {limit}"
            if granted + keeping[path] and held + keeping[path] > limit:
                yield f"{path}: {held + keeping[path]} milli are promised, the limit is {limit}"

    def check_victims(self) -> Iterator[str]:
        """Every victim may be evicted for its beneficiary, and what it frees is kept for that one."""
        for eviction in self.plan.evictions:
            victim, winner = self.jobs[eviction.job], self.jobs[eviction.beneficiary]
            if victim is winner:
                yield from self._withdrawal_problems(eviction)
                continue
            pair = f"{victim.id} for {winner.id}"
            is_own = eviction.kind is EvictionKind.PREEMPT
            if is_own != (victim.queue == winner.queue):
                yield f"{pair}: not by that right"
            if is_own and victim.priority >= winner.priority + self._ranks_by_service():
                yield f"{pair}: its priority is not lower"
            yield from (f"{pair}: {problem}" for problem in self._victim_problems(victim, winner))
        yield from self._shrink_problems()
        yield from self._unlawful_reclaims()

    def check_reasons(self) -> Iterator[str]:
        """Each job that waits afterwards has one reason, and nobody else has one."""
        waiting = {job.id for job in self.jobs.values() if job.phase is JobPhase.WAITING} - self.starts.keys()
        yield from (f"{name} waits without a reason" for name in sorted(waiting - self.plan.reasons.keys()))
        yield from (f"{name} has a reason" for name in sorted(self.plan.reasons.keys() - waiting))

    def _ranks_by_service(self) -> bool:
        """Whether equals of a queue may be evicted by the policy's order."""
        return self.plan.policy.order in (Order.LEAST_ATTAINED, Order.SHORTEST_REMAINING)

    def _leavers(self, job: Job) -> Placement:
        """What of the job's devices is being freed."""
        if job.phase is JobPhase.LEAVING or job.id in self.evicted:
            return job.placement + job.releasing
        return without(job.placement, self.after.get(job.id, job.placement)) + job.releasing

    def _awaits_members(self, job: Job) -> bool:
        """Whether places are kept for members that a gang has lost, or for one that leaves as it lost
        some.
        """
        return job.phase is JobPhase.LEAVING or (job.phase is JobPhase.PLACED and job.num_missing > 0)

    def _withdrawal_problems(self, eviction: Evict) -> Iterator[str]:
        job = self.jobs[eviction.job]
        is_incomplete = eviction.kind is EvictionKind.INCOMPLETE and job.num_missing > 0
        if not (is_incomplete or eviction.kind is EvictionKind.MAINTENANCE):
            yield f"{job.id} leaves for no reason"

    def _victim_problems(self, victim: Job, winner: Job) -> Iterator[str]:
        if victim.phase is not JobPhase.PLACED or not victim.preemptible:
            yield "may not be evicted"
        if winner.id not in self.keeps.keys() | self.starts.keys() | self.changes.keys():
            yield "nothing is kept"

    def _shrink_problems(self) -> Iterator[str]:
        """Surplus gives way by the same rights, and by policy to equals of its queue, which may also run."""
        shares = self.plan.policy.shares_surplus
        for change in self.plan.resizes:
            if change.beneficiary is None or change.job not in self.staying:
                continue
            job, winner = self.jobs[change.job], self.jobs[change.beneficiary]
            pair = f"{job.id} for {winner.id}"
            if winner.phase is JobPhase.PLACED and not winner.num_missing:
                if not shares or self.plan.policy.growth is not Growth.MOST or not winner.is_elastic:
                    yield f"{pair}: surplus does not move"
            else:
                yield from (f"{pair}: {problem}" for problem in self._victim_problems(job, winner))
            reaches_equals = shares or self._ranks_by_service()
            if job.queue == winner.queue and job.priority >= winner.priority + reaches_equals:
                yield f"{pair}: its priority is not lower"

    def _given(
        self, placements: Mapping[JobId, Placement], *, but: Mapping[JobId, Placement] = MappingProxyType({})
    ) -> Iterator[tuple[Worker, Shape]]:
        for name, placement in placements.items():
            if name in self.jobs:
                workers = without(placement, but.get(name, ()))
                yield from ((worker, shape_of(self.jobs[name])) for worker in workers)

    def _gang_problems(self, job: Job, placement: Placement) -> Iterator[str]:
        yield from self._size_problems(job, placement)
        yield from self._place_problems(job, placement, placement)
        if job.accelerators_milli and job.least_workers % job.group_workers == 0:
            yield from self._group_problems(placement, job.group_workers)

    def _group_problems(self, placement: Placement, size: int) -> Iterator[str]:
        groups = [placement[first : first + size] for first in range(0, len(placement), size)]
        for group in groups if size > 1 else ():
            links = {link for worker in group for link in self._domains(worker, LINK_LEVEL)}
            if len(links) != 1 or None in links:
                yield "a tensor group is not inside one link domain"

    def _size_problems(self, job: Job, placement: Placement) -> Iterator[str]:
        size, most = len(placement), job.num_workers
        if self.plan.policy.growth is not Growth.WANTED:
            most = job.most_workers
        is_whole = size == job.least_workers or size % (job.step_workers if job.is_elastic else 1) == 0
        if not job.least_workers <= size <= most or not is_whole:
            yield f"{size} of {job.num_workers} workers"

    def _place_problems(self, job: Job, placement: Placement, joining: Placement) -> Iterator[str]:
        """What is wrong with a gang's place, and with those of its workers that are not there yet."""
        for worker in joining:
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
        labels = {**node.domains, NODE_LEVEL: node.name}
        if any(labels.get(selector.label) not in selector.values for selector in job.selectors):
            yield f"{worker.node} is not among those selected"
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

    def _usage(self, placements: Mapping[JobId, Placement]) -> dict[QueuePath, int]:
        usage: dict[QueuePath, int] = defaultdict(int)
        for name, placement in placements.items():
            for path in self._upwards(self.jobs[name].queue) if name in self.jobs else ():
                usage[path] += len(placement) * self.jobs[name].accelerators_milli
        return usage

    def _upwards(self, path: QueuePath) -> list[QueuePath]:
        chain: list[QueuePath] = []
        step: QueuePath | None = path
        while step is not None and step not in chain:
            chain.append(step)
            step = self.queues[step].parent if step in self.queues else None
        return chain

    def _unlawful_reclaims(self) -> Iterator[str]:
        """A claimant's queue ends within its guarantee; a victim's is above its own until the last one."""
        losses = list(self._reclaimed())
        for path in sorted({self.jobs[winner].queue for _, winner, _ in losses}):
            claimants = {winner for _, winner, _ in losses if self.jobs[winner].queue == path}
            yield from self._claims_beyond(path, [self._wanted(self.jobs[name]) for name in claimants])
        for path in sorted({self.jobs[victim].queue for victim, _, _ in losses}):
            amounts = [amount for victim, _, amount in losses if self.jobs[victim].queue == path]
            if sum(amounts) - max(amounts) >= self._most_used(path) - self._guarantee(path):
                yield f"{path} loses more than it holds beyond its guarantee"

    def _reclaimed(self) -> Iterator[tuple[JobId, JobId, int]]:
        """Who loses how much to whom of another queue: whole jobs, and surplus in its pieces."""
        for each in self.plan.evictions:
            if each.kind is EvictionKind.RECLAIM:
                yield each.job, each.beneficiary, held_milli(self.jobs[each.job])
        for change in self.plan.resizes:
            job = self.jobs[change.job]
            winner = job if change.beneficiary is None else self.jobs[change.beneficiary]
            if winner.queue != job.queue:
                lost, step = len(without(job.placement, change.placement)), step_of(job)
                yield from ((job.id, winner.id, step * job.accelerators_milli) for _ in range(lost // step))

    def _wanted(self, job: Job) -> int:
        """What the job needs to start, or a gang that lost members to be whole again."""
        return job.num_missing * job.accelerators_milli if job.placement else job.total_milli

    def _claims_beyond(self, path: QueuePath, wanted: list[int]) -> Iterator[str]:
        before_growth = {
            name: without(placement, self.joining.get(name, ())) for name, placement in self.after.items()
        }
        staying = self._usage(before_growth)[path]
        before = staying + self._usage(self.leaving)[path]
        if before + max(wanted) > self._guarantee(path) or staying + sum(wanted) > self._guarantee(path):
            yield f"{path} reclaims beyond its guarantee"

    def _most_used(self, path: QueuePath) -> int:
        """What the queue holds at most while the plan is made: with lost members replaced, and with all
        starts, also those that gave way.
        """
        running = [job for job in self.jobs.values() if job.phase is JobPhase.PLACED]
        running = [job for job in running if path in self._upwards(job.queue)]
        held = sum((len(job.placement) + job.num_missing) * job.accelerators_milli for job in running)
        gave_way = sum(
            self.jobs[n].total_milli for n in self.plan.gave_way if path in self._upwards(self.jobs[n].queue)
        )
        return held + self._usage(self.starts)[path] + gave_way

    def _guarantee(self, path: QueuePath) -> int:
        """The queue's own, or what its children are guaranteed if that is more."""
        own = self.queues[path].guarantee_milli if path in self.queues else 0
        children = [queue.path for queue in self.queues.values() if queue.parent == path]
        return max(own, sum(self._guarantee(child) for child in children))


def _nodes_of(placements: Mapping[JobId, Placement]) -> set[NodeName]:
    return {worker.node for placement in placements.values() for worker in placement}


def _link(node: Node, device: int) -> str | None:
    return (node.links[device] or None) if device < len(node.links) else None
