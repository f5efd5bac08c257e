"""Elastic gangs of equal standing share devices by what these are worth to each (`Growth.BALANCED`).

Those of one queue and priority on one accelerator type are a pool: what they hold and what is free for them
is divided by `scheduling.marginal`. First the ones above their target shrink; when those devices are free, in
this plan or a later one, the ones below grow.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from scheduling.backfill import Backfill
from scheduling.elastic import Growing
from scheduling.marginal import HORIZON_MS, PARTS_OF_REST, Wish, target_sizes, weight
from scheduling.model import Job, JobId, JobPhase, Placement
from scheduling.sizes import largest_size, size_up_to, step_of
from scheduling.speeds import expected_ms, speed_of
from scheduling.standing import Standing

MOST_ROUNDS = 8  # of one plan; three are enough nearly always

Pool = tuple[int, int, int]  # queue, priority, accelerator type


class Balance:
    """One plan's balancing: made before anybody starts, carried out then and at the end."""

    def __init__(self, standing: Standing, backfill: Backfill) -> None:
        self._standing = standing
        self._backfill = backfill
        self._targets: dict[JobId, int] = {}
        self._widest = max((int(width) for width in standing.supply.num_devices), default=1)

    def shrink(self) -> bool:
        """Running gangs above their targets give workers back; tells whether any did."""
        before = self._standing.version
        self._aim()
        for name in sorted(self._targets):
            job, size = self._standing.jobs[name], self._targets[name]
            if size < len(self._held(job)):
                self._lower(job, size)
        return self._standing.version != before

    def settle(self) -> None:
        """Gangs below their targets take what is free, and so on until nothing is worth changing."""
        for _ in range(MOST_ROUNDS):
            if not (self.shrink() | self._tidy() | self._grow()):
                return

    def _aim(self) -> None:
        self._targets = {}
        for (queue, _, kind), jobs in sorted(self._pools().items()):
            targets = target_sizes([self._wish(job) for job in jobs], self._capacity(queue, kind, jobs))
            self._targets.update(zip((job.id for job in jobs), targets, strict=True))

    def _tidy(self) -> bool:
        """Who restarts anyway, and fits a node with less room, goes there: whole nodes are left to others."""
        before = self._standing.version
        for name in sorted(self._targets):
            job = self._standing.jobs[name]
            held = self._held(job)
            if not held or num_nodes(held) > 1 or self._change_cost(job, len(held)):
                continue
            moved = self._place_anew(job, held, len(held))
            joiners = tuple(worker for worker in moved if worker not in held)
            if self._is_tighter(job, held, moved) and self._may_join(job, joiners):
                self._standing.resize(job, moved)
        return self._standing.version != before

    def _is_tighter(self, job: Job, held: Placement, moved: Placement) -> bool:
        """Whether it lies on another node that has less room than the present one would have without it."""
        if not moved or num_nodes(moved) > 1 or moved[0].node == held[0].node:
            return False
        own = len(held) * job.accelerators_milli // 1000
        return self._room_at(moved) < self._room_at(held) + own

    def _room_at(self, placement: Placement) -> int:
        """Whole devices free on the node of its first worker."""
        return int(self._standing.later.whole[self._standing.supply.index[placement[0].node]])

    def _grow(self) -> bool:
        """The largest first: they need whole nodes."""
        before = self._standing.version
        growing = Growing(self._standing, self._backfill)
        for job in sorted(growing.jobs.values(), key=lambda job: (-self._targets.get(job.id, 0), job.id)):
            size = self._targets.get(job.id, 0)
            if size > len(growing.placement(job)):
                self._raise(growing, job, size)
        return self._standing.version != before

    def _lower(self, job: Job, size: int) -> None:
        """Where it leaves whole nodes to others: it restarts anyway."""
        held = self._held(job)
        part = compact_part(held, size, group=job.group_workers)
        moved = self._place_anew(job, held, size)
        joiners = tuple(worker for worker in moved if worker not in held)
        if moved and num_nodes(moved) <= num_nodes(part) and self._may_join(job, joiners):
            part = moved
        self._standing.resize(job, part)

    def _raise(self, growing: Growing, job: Job, target: int) -> None:
        """To the largest size up to the target that as few nodes as can be have room for: beside what it
        holds, or all of it elsewhere, as it restarts anyway.
        """
        held = growing.placement(job)
        most = growing.within_limits(job, len(held), target)
        for size in sorted(
            (size for size in self._sizes(job, len(held)) if len(held) < size <= most), reverse=True
        ):
            placement = self._compact_place(growing, job, size)
            joiners = tuple(worker for worker in placement if worker not in held)
            if placement and self._may_join(job, joiners):
                self._standing.resize(job, placement)
                self._backfill.grew(job, joiners)
                return

    def _compact_place(self, growing: Growing, job: Job, size: int) -> Placement:
        held = growing.placement(job)
        found = growing.joining.find(job, held, self._backfill.free_for(job), at_most=size - len(held))
        joined = held + growing.joining.whole_groups(job, found)
        for placement in (joined, self._place_anew(job, held, size)):
            if len(placement) == size and num_nodes(placement) <= -(-size // self._on_node(job)):
                return placement
        return ()

    def _may_join(self, job: Job, joiners: Placement) -> bool:
        """Whether limits allow these workers beside all that hold devices, leaving ones included."""
        tree, kind = self._standing.tree, self._type_of(job)
        more, queue = len(joiners) * job.accelerators_milli, self._standing.queue_of(job)
        hit = tree.limit_now(queue, more, accelerator_type=kind, user=job.user) if joiners else None
        return hit is None and self._backfill.allows_growth(job, joiners)

    def _place_anew(self, job: Job, placement: Placement, size: int) -> Placement:
        """The best place for the whole gang, its own devices being free for it; or nothing."""
        standing = self._standing
        free = self._backfill.free_for(job).copy()
        free.give(standing.footprint(job, placement))
        place = standing.placer.place(free, replace(standing.requests[job.id], num_workers=size))
        return () if place is None else place.placement

    def _pools(self) -> dict[Pool, list[Job]]:
        """Who shares with whom, in order of id."""
        pools: dict[Pool, list[Job]] = {}
        for job in sorted(self._standing.elastic(), key=lambda job: job.id):
            if self._takes_part(job):
                key = (self._standing.queue_of(job), job.priority, self._type_of(job))
                pools.setdefault(key, []).append(job)
        return pools

    def _takes_part(self, job: Job) -> bool:
        standing = self._standing
        if not job.accelerators_milli or not job.preemptible or job.id in standing.evictions:
            return False
        if job.phase is JobPhase.WAITING and job.id not in standing.starts:
            is_held_up = standing.is_barred(job) or standing.can_never_start(job) or job.id in standing.keeps
            return not is_held_up and self._type_of(job) >= 0
        is_whole = not job.num_missing or job.id in standing.repaired
        return job.phase is not JobPhase.LEAVING and is_whole and len(self._held(job)) >= job.least_workers

    def _type_of(self, job: Job) -> int:
        """The type that it is on, or the only one that it takes; -1 if that is open."""
        supply = self._standing.supply
        if held := self._held(job):
            return supply.type_at(held)
        known = [name for name in supply.types if name in job.types or not job.types]
        return supply.types.index(known[0]) if len(known) == 1 else -1

    def _held(self, job: Job) -> Placement:
        is_placed = job.phase is JobPhase.PLACED or job.id in self._standing.starts
        return self._standing.holdings.placement_of(job.id) if is_placed else ()

    def _capacity(self, queue: int, kind: int, jobs: Iterable[Job]) -> int:
        """What the pool holds, and what is free for it when those who leave are gone, limits included."""
        standing, tree = self._standing, self._standing.tree
        on_type = standing.supply.type_of == kind
        free = int(standing.later.whole[on_type & standing.later.open].sum()) * 1000
        for number in tree.chains[queue]:
            for index in (0, 1 + kind):
                limit, staying = tree.limits[number][index], tree.staying[number][index]
                free = min(free, limit - staying - tree.claimed[number][index])
        return max(free, 0) + sum(len(self._held(job)) * job.accelerators_milli for job in jobs)

    def _wish(self, job: Job) -> Wish:
        current = len(self._held(job))
        sizes = tuple(self._sizes(job, current))
        return Wish(
            sizes=sizes,
            speeds=tuple(speed_of(job, size) for size in sizes),
            weight=weight(remaining_ms=job.remaining_ms, service_ms=self._service_ms(job, current)),
            devices=job.accelerators_milli,
            current=current,
            change_cost=self._change_cost(job, current),
        )

    def _service_ms(self, job: Job, current: int) -> float:
        """Of all attempts, in milliseconds of one device."""
        ran_ms = 0 if job.placed_at_ms is None else max(self._standing.now_ms - job.placed_at_ms, 0)
        return (job.attained_milli_ms + ran_ms * current * job.accelerators_milli) / 1000

    def _change_cost(self, job: Job, current: int) -> float:
        """A restart's part of the time in which it has to pay off; nothing if the job restarts anyway."""
        standing = self._standing
        if job.id in standing.starts or job.id in standing.resizes:
            return 0.0
        rest_ms = expected_ms(job, speed_of(job, max(current, 1)), now_ms=standing.now_ms)
        return job.restart_cost_ms / max(min(HORIZON_MS, rest_ms / PARTS_OF_REST), 1.0)

    def _on_node(self, job: Job) -> int:
        """How many of its workers the widest node holds."""
        return max(self._widest * 1000 // job.accelerators_milli, 1)

    def _sizes(self, job: Job, current: int) -> Iterator[int]:
        """Any size that one node can hold, then whole nodes: a rest would block a node for somebody else."""
        most = largest_size(job, self._standing.policy)
        node = self._on_node(job)
        least, step = size_up_to(job, job.least_workers), step_of(job)
        for size in sorted({least, current, *range(step, most + 1, step)} - {0}):
            if least <= size <= max(most, current) and (
                size <= node or not size % node or size in (least, current)
            ):
                yield size


def compact_part(placement: Placement, size: int, *, group: int) -> Placement:
    """So many of the workers, in rank order: of the fullest nodes, or the first ranks if they form groups."""
    if group > 1:
        return placement[:size]
    count = Counter(worker.node for worker in placement)
    ranks = sorted(
        range(len(placement)), key=lambda rank: (-count[placement[rank].node], placement[rank].node, rank)
    )
    return tuple(placement[rank] for rank in sorted(ranks[:size]))


def num_nodes(placement: Placement) -> int:
    """On how many nodes it lies."""
    return len({worker.node for worker in placement})
