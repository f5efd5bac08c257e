"""The rules once more, by trying everything: slow, short, and written without the engine's code."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from scheduling.model import Job, JobPhase, Keep, Node, Placement, Queue, QueuePath, Reservation, Worker
from scheduling.snapshot import Snapshot

Spot = tuple[str, int]
FOR_EVER = 1 << 50


def any_place(nodes: Sequence[Node], holders: Iterable[Job], job: Job) -> Placement | None:
    """Some allowed place for the gang beside these holders."""
    free, cpus = _free(nodes, holders)
    for names, spots in _domains(nodes, job):
        room = {spot: milli for spot, milli in free.items() if spot in spots}
        placement = _fill([node for node in nodes if node.name in names], room, dict(cpus), job)
        if placement is not None:
            return placement
    return None


def cheapest_victims(rows: Snapshot, job: Job, *, now_ms: int) -> tuple[int, frozenset[str]] | None:
    """The lawful victims with the least lost work, of all sets with which the job then starts."""
    holders = [row for row in rows.jobs if row.phase is JobPhase.PLACED]
    found = [
        (sum(lost(victim, now_ms) for victim in chosen), len(chosen), sorted(victim.id for victim in chosen))
        for size in range(len(holders) + 1)
        for chosen in combinations(holders, size)
        if is_lawful(rows, job, chosen) and can_start_without(rows, job, chosen)
    ]
    best = min(found, default=None)
    return None if best is None else (best[0], frozenset(best[2]))


def can_start_now(rows: Snapshot, job: Job) -> bool:
    """Whether limits and placement allow the job beside all who hold devices."""
    return _can_start(rows, job, [row for row in rows.jobs if row.phase is not JobPhase.WAITING])


def can_start_without(rows: Snapshot, job: Job, victims: Sequence[Job]) -> bool:
    """Whether they allow it when these, and all who leave, are gone."""
    staying = [row for row in rows.jobs if row.phase is JobPhase.PLACED and row not in victims]
    return _can_start(rows, job, staying)


def can_start_beside(rows: Snapshot, job: Job, victim: Job, keeps: Sequence[Keep]) -> bool:
    """Whether they allow it when all who leave are gone but this victim stays, beside what others keep."""
    kept = {keep.job: keep.placement for keep in keeps}
    keepers = [replace(row, placement=kept[row.id]) for row in rows.jobs if row.id in kept]
    staying = [row for row in rows.jobs if row.phase is JobPhase.PLACED or row.id == victim.id]
    return _can_start(rows, job, [*staying, *keepers])


def earliest_start(
    rows: Snapshot, job: Job, reservations: Sequence[Reservation], *, now_ms: int
) -> int | None:
    """The first moment after now at which the job can start beside holders, reservations and windows, each
    until it ends by its limit.
    """
    jobs = {row.id: row for row in rows.jobs}
    stays = [(row, now_ms, _end(row, now_ms)) for row in rows.jobs if row.phase is not JobPhase.WAITING]
    for each in reservations:
        other = replace(jobs[each.job], placement=each.placement)
        stays.append((other, each.starts_at_ms, each.starts_at_ms + (other.max_runtime_ms or FOR_EVER)))
    moments = {now_ms + 1, *(end for _, _, end in stays), *(window.ends_at_ms for window in rows.windows)}
    for start in sorted(moment for moment in moments if now_ms < moment < FOR_EVER):
        end = start + (job.max_runtime_ms or FOR_EVER)
        met = {
            name for w in rows.windows if w.starts_at_ms < end and start < w.ends_at_ms for name in w.nodes
        }
        nodes = [replace(node, usable=node.usable and node.name not in met) for node in rows.nodes]
        beside = [row for row, begins, ends in stays if begins < end and start < ends]
        if _can_start(replace(rows, nodes=tuple(nodes)), job, beside):
            return start
    return None


def _end(row: Job, now_ms: int) -> int:
    if row.phase is JobPhase.LEAVING:
        return now_ms + max(row.grace_ms, 1)
    return max((row.placed_at_ms or 0) + (row.max_runtime_ms or FOR_EVER), now_ms + 1)


def _can_start(rows: Snapshot, job: Job, staying: Sequence[Job]) -> bool:
    for path in chain(rows.queues, job.queue):
        limit = _queue(rows.queues, path).limit_milli
        over = limit is not None and usage(rows.queues, path, staying) + job.total_milli > limit
        if over and job.total_milli:
            return False
    return any_place(rows.nodes, staying, job) is not None


def is_lawful(rows: Snapshot, job: Job, victims: Sequence[Job]) -> bool:
    """Preempt or reclaim, in the order in which most are allowed: smallest first."""
    remaining = [row for row in rows.jobs if row.phase is JobPhase.PLACED]
    for victim in sorted(victims, key=lambda row: (row.total_milli, row.id)):
        preempts = victim.queue == job.queue and victim.priority < job.priority
        if not victim.preemptible or not (preempts or _may_reclaim(rows, job, victim, remaining)):
            return False
        remaining.remove(victim)
    return True


def chain(queues: Sequence[Queue], path: QueuePath) -> list[QueuePath]:
    """The queue and all above it."""
    found = [path]
    while (parent := _queue(queues, found[-1]).parent) is not None:
        found.append(parent)
    return found


def usage(queues: Sequence[Queue], path: QueuePath, jobs: Iterable[Job]) -> int:
    """What these jobs use in the subtree of a queue."""
    return sum(
        len(row.placement) * row.accelerators_milli for row in jobs if path in chain(queues, row.queue)
    )


def lost(victim: Job, now_ms: int) -> int:
    """Device-milli x milliseconds since its last checkpoint of this run."""
    since = max(victim.placed_at_ms or 0, victim.saved_at_ms or 0)
    return (victim.total_milli or victim.num_workers) * (now_ms - since + victim.restart_cost_ms)


def _may_reclaim(rows: Snapshot, job: Job, victim: Job, remaining: Sequence[Job]) -> bool:
    if victim.queue == job.queue or not job.total_milli:
        return False
    ours, theirs = chain(rows.queues, job.queue), chain(rows.queues, victim.queue)
    held = [row for row in rows.jobs if row.phase is not JobPhase.WAITING]
    within = all(
        usage(rows.queues, path, held) + job.total_milli <= _guarantee(rows.queues, path)
        for path in [path for path in ours if path not in theirs] or [job.queue]
    )
    above = all(
        usage(rows.queues, path, remaining) > _guarantee(rows.queues, path)
        for path in [path for path in theirs if path not in ours] or [victim.queue]
    )
    return within and above


def _guarantee(queues: Sequence[Queue], path: QueuePath) -> int:
    children = sum(_guarantee(queues, row.path) for row in queues if row.parent == path)
    return max(_queue(queues, path).guarantee_milli, children)


def _queue(queues: Sequence[Queue], path: QueuePath) -> Queue:
    return next(row for row in queues if row.path == path)


def _free(nodes: Sequence[Node], holders: Iterable[Job]) -> tuple[dict[Spot, int], dict[str, int]]:
    usable = [node for node in nodes if node.usable]
    free = {(str(node.name), index): 1000 for node in usable for index in range(node.num_devices)}
    cpus = {str(node.name): node.cpus_milli for node in usable}
    for row in holders:
        for worker in row.placement:
            cpus[worker.node] = cpus.get(worker.node, 0) - row.cpus_milli
            for device in worker.devices:
                spot = (str(worker.node), device)
                free[spot] = free.get(spot, 0) - min(row.accelerators_milli, 1000)
    return free, cpus


def _domains(nodes: Sequence[Node], job: Job) -> Iterator[tuple[set[str], set[Spot]]]:
    """Every set of nodes and devices inside which the job may lie."""
    levels = [rule.level for rule in job.topology if not rule.preferred]
    levels = [level for level in levels if job.accelerators_milli or level != "link"]
    keys: dict[tuple[str, ...], tuple[set[str], set[Spot]]] = {}
    for node in nodes:
        if not node.usable or (job.types and node.accelerator_type not in job.types):
            continue
        for index in range(max(node.num_devices, 1)):
            label = {"node": node.name, "link": node.links[index] if node.num_devices else "", **node.domains}
            typed = node.accelerator_type if job.accelerators_milli or job.types else ""
            names, spots = keys.setdefault((typed, *(label[level] for level in levels)), (set(), set()))
            names.add(node.name)
            spots.add((node.name, index))
    yield from keys.values()


def _fill(
    nodes: Sequence[Node], room: dict[Spot, int], cpus: dict[str, int], job: Job
) -> tuple[Worker, ...] | None:
    """First fit: with one shape of workers, filling node by node finds a place whenever there is one."""
    found: list[Worker] = []
    for node in nodes:
        while len(found) < job.num_workers and (worker := _worker(node, room, cpus, job)) is not None:
            found.append(worker)
    return tuple(found) if len(found) == job.num_workers else None


def _worker(node: Node, room: dict[Spot, int], cpus: dict[str, int], job: Job) -> Worker | None:
    milli = min(job.accelerators_milli, 1000)
    wanted = -(-job.accelerators_milli // 1000)
    fitting = [index for index in range(node.num_devices) if room.get((node.name, index), 0) >= milli]
    if len(fitting) < wanted or (job.cpus_milli and cpus[node.name] < job.cpus_milli):
        return None
    chosen = tuple(fitting[:wanted])
    for index in chosen:
        room[node.name, index] -= milli
    cpus[node.name] -= job.cpus_milli
    return Worker(node=node.name, devices=chosen)
