"""What must hold of every plan beside places, totals and rights, row by row as in `invariants`.

Whom a job waits for, caps of arrays, types and users, maintenance windows, how many are evicted, how soon.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from scheduling.ends import duration_of, end_of
from scheduling.model import (
    EvictionKind,
    Job,
    JobId,
    JobPhase,
    NodeName,
    Placement,
    Plan,
    Queue,
    QueuePath,
    Window,
)
from scheduling.snapshot import Snapshot

Placements = Mapping[JobId, Placement]
Cap = tuple[QueuePath, str, str]  # a queue, and the accelerator type or else the user


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """Who holds what while and after the plan is carried out. `staying` has those who join already."""

    snapshot: Snapshot
    plan: Plan
    staying: Placements
    leaving: Placements
    starting: Placements
    joining: Placements
    keeping: Placements


def unmet(movement: Movement, *, now_ms: int | None) -> Iterator[str]:
    """What is wrong; windows and run times only where the moment is known."""
    jobs = {job.id: job for job in movement.snapshot.jobs}
    yield from _dependency_problems(movement, jobs)
    yield from _array_problems(movement, jobs)
    yield from _cap_problems(movement, jobs)
    yield from _budget_problems(movement.plan)
    if now_ms is not None:
        yield from _window_problems(movement, jobs, now_ms)
        yield from _haste_problems(movement.plan, jobs, now_ms)


def _dependency_problems(movement: Movement, jobs: Mapping[JobId, Job]) -> Iterator[str]:
    for name in _first_given(movement, jobs):
        for other in sorted(jobs[name].depends_on & jobs.keys()):
            yield f"{name} does not wait for {other}"


def _array_problems(movement: Movement, jobs: Mapping[JobId, Job]) -> Iterator[str]:
    """Neither now, with those who leave, nor later, with those for whom places are kept."""
    new, starting = _first_given(movement, jobs), [jobs[name] for name in movement.starting if name in jobs]
    holders = [job for job in jobs.values() if job.phase is not JobPhase.WAITING]
    now = Counter(job.array for job in [*holders, *starting] if job.array_cap is not None)
    staying = {job.id for job in holders if job.id in movement.staying}
    later = Counter(jobs[name].array for name in {*staying, *new} if jobs[name].array_cap is not None)
    for job in (jobs[name] for name in new):
        if job.array_cap is None:
            continue
        if job.id in movement.starting and now[job.array] > job.array_cap:
            yield f"{job.id}: {now[job.array]} of its array hold devices, {job.array_cap} may"
        if later[job.array] > job.array_cap:
            yield f"{job.id}: {later[job.array]} of its array are promised devices, {job.array_cap} may"


def _cap_problems(movement: Movement, jobs: Mapping[JobId, Job]) -> Iterator[str]:
    """As for a queue's total: whoever is granted or promised more ends within the cap."""
    usage = _Usage(movement.snapshot)
    staying, leaving = usage.of(movement.staying, jobs), usage.of(movement.leaving, jobs)
    starting, keeping = usage.of(movement.starting, jobs), usage.of(movement.keeping, jobs)
    granted = starting + usage.of(movement.joining, jobs)
    for cap in sorted(granted.keys() | keeping.keys()):
        limit, held = usage.limit_of(cap), staying[cap] + starting[cap]
        if limit is None:
            continue
        if granted[cap] and held + leaving[cap] > limit:
            yield f"{_named(cap)}: {held + leaving[cap]} milli are used, the limit is {limit}"
        if granted[cap] + keeping[cap] and held + keeping[cap] > limit:
            yield f"{_named(cap)}: {held + keeping[cap]} milli are promised, the limit is {limit}"


def _budget_problems(plan: Plan) -> Iterator[str]:
    """The first claim may take what it needs, or a large gang would never be served; no further one may."""
    rights = (EvictionKind.PREEMPT, EvictionKind.RECLAIM)
    claims = [each.beneficiary for each in plan.evictions if each.kind in rights]
    most = plan.policy.max_evictions
    if most is not None and len(claims) > most and len(set(claims)) > 1:
        yield f"{len(claims)} evictions for several, the policy allows {most}"
    if not plan.policy.preempts:
        own = (each.job for each in plan.evictions if each.kind is EvictionKind.PREEMPT)
        yield from (f"{name} is preempted, the policy does not" for name in own)


def _window_problems(movement: Movement, jobs: Mapping[JobId, Job], now_ms: int) -> Iterator[str]:
    """Nobody is sent to a node that a window closes before the job's known end."""
    windows = [window for window in movement.snapshot.windows if window.ends_at_ms > now_ms]
    for placements in (movement.starting, movement.joining, movement.keeping):
        for name, placement in placements.items() if windows else ():
            if name in jobs:
                yield from _met(jobs[name], placement, windows, movement.plan, now_ms)


def _met(job: Job, placement: Placement, windows: Iterable[Window], plan: Plan, now_ms: int) -> Iterator[str]:
    runtimes = plan.policy.runtimes
    if job.phase is JobPhase.PLACED:
        end = end_of(job, now_ms=now_ms, runtimes=runtimes)
    else:
        end = now_ms + duration_of(job, runtimes)
    nodes: set[NodeName] = {worker.node for worker in placement}
    for window in windows:
        if window.starts_at_ms < end and nodes & window.nodes:
            yield f"{job.id}: meets the window {window.name}"


def _haste_problems(plan: Plan, jobs: Mapping[JobId, Job], now_ms: int) -> Iterator[str]:
    for eviction in plan.evictions:
        begun = jobs[eviction.job].placed_at_ms
        is_own = eviction.kind is EvictionKind.PREEMPT
        if is_own and begun is not None and now_ms - begun < plan.policy.min_runtime_ms:
            yield f"{eviction.job} runs for too short a time to be preempted"


def _first_given(movement: Movement, jobs: Mapping[JobId, Job]) -> list[JobId]:
    """The waiting jobs that start or that places are kept for."""
    given = sorted(movement.starting.keys() | movement.keeping.keys())
    return [name for name in given if name in jobs and jobs[name].phase is JobPhase.WAITING]


def _named(cap: Cap) -> str:
    path, accelerator_type, user = cap
    return f"{path}, type {accelerator_type}" if accelerator_type else f"{path}, user {user}"


class _Usage:
    """What is used of the caps for types and users, queues above included."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._queues = {queue.path: queue for queue in snapshot.queues}
        self._type = {node.name: node.accelerator_type for node in snapshot.nodes}

    def of(self, placements: Placements, jobs: Mapping[JobId, Job]) -> Counter[Cap]:
        """By what each job holds there."""
        usage: Counter[Cap] = Counter()
        for name, placement in placements.items():
            job = jobs.get(name)
            for queue in self._upwards(job.queue) if job is not None and placement else ():
                assert job is not None
                amount = len(placement) * job.accelerators_milli
                usage[queue.path, self._type.get(placement[0].node, ""), ""] += amount
                usage[queue.path, "", job.user] += amount
        return usage

    def limit_of(self, cap: Cap) -> int | None:
        """The cap's limit, if it has one."""
        path, accelerator_type, _ = cap
        queue = self._queues[path]
        return queue.type_limits.get(accelerator_type) if accelerator_type else queue.user_limit_milli

    def _upwards(self, path: QueuePath) -> list[Queue]:
        chain: list[Queue] = []
        step = self._queues.get(path)
        while step is not None and step not in chain:
            chain.append(step)
            step = None if step.parent is None else self._queues.get(step.parent)
        return chain
