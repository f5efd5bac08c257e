"""Who holds what, as columns, so that a search for victims is arithmetic on arrays."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from scheduling.amounts import shape_of
from scheduling.columns import Columns
from scheduling.growing import GrowingTable
from scheduling.model import Job, JobId, Placement
from scheduling.ordering import Ranking, remaining_service
from scheduling.shares import Charge
from scheduling.sizes import in_pieces
from scheduling.supply import BoolArray, Free, IntArray, Supply

JOB_COLUMNS = (
    *("queue", "priority", "evictable", "placed_at_ms", "saved_at_ms", "weight", "restart_ms", "attained"),
    *("remaining", "limit_ms", "predicted_ms", "is_new", "is_surplus", "amount", "held"),
    *("name_first", "name_next"),
)
WORKER_COLUMNS = ("worker_slot", "worker_node", "worker_cpus", "worker_memory")
DEVICE_COLUMNS = ("device_slot", "device_node", "device_index", "device_milli")
MIN_SLOTS_TO_DROP = 1024
NAME_BYTES = 7  # fit into a signed number of 64 bits
NO_LIMIT_MS = 1 << 60
MOST_FOR_PIECE = 999  # of each worker, where a device that loses a millisecond costs 1000
NO_WORK_LOST = 1 << 62  # a time at which work is saved that no moment comes after


@dataclass(frozen=True, slots=True)
class Holding:
    """One job's devices. A new one starts in this plan: taking that back evicts nobody and loses nothing; a
    final one is not taken back (again).

    A running elastic job is held in parts: what it needs at least, which stands for the whole job (it leaves
    with all `num_surplus` further workers), and pieces of its surplus, which can leave while it goes on.
    """

    job: Job
    placement: Placement
    queue: int
    accelerator_type: int = -1  # by number in the supply
    is_new: bool = False
    is_final: bool = False
    is_surplus: bool = False
    num_surplus: int = 0

    @property
    def amount_milli(self) -> int:
        """What its queue is charged."""
        return len(self.placement) * self.job.accelerators_milli

    @property
    def charge(self) -> Charge:
        """Who is charged for it, and how much."""
        return Charge(self.queue, self.amount_milli, self.accelerator_type, self.job.user)


class Holdings:
    """All holdings that stay. Slots are never used again; a slot that left is not `active` any more.

    `at` gives the holdings of one plan: with what evicting would cost then, and who ranks where.
    """

    def __init__(self, supply: Supply) -> None:
        self.slots: list[Holding] = []
        self._supply = supply
        self._slots_of: dict[JobId, tuple[int, ...]] = {}  # the whole job's first, then its surplus
        self._active = bytearray()  # one truth value for each slot
        self._tables = tuple(GrowingTable(rows) for rows in _rows([], supply=supply, first_slot=0))
        self._columns = _as_columns(self._tables)

    def copy(self) -> "Holdings":
        """Independent holdings; columns are shared, as nothing changes them. Slots that left are dropped when
        they are the greater part.
        """
        if len(self.slots) > MIN_SLOTS_TO_DROP and self._active.count(1) * 2 < len(self.slots):
            return self._compacted()
        return self._copy_into(Holdings.__new__(Holdings))

    def at(self, now_ms: int, ranking: Ranking) -> "HoldingsNow":
        """The holdings of one plan."""
        holdings = HoldingsNow.__new__(HoldingsNow)
        self._copy_into(holdings)
        holdings.begin(now_ms, ranking)
        return holdings

    def add(self, holding: Holding) -> None:
        """Book a holding."""
        parts = _parts(holding)
        first = len(self.slots)
        self._slots_of[holding.job.id] = tuple(range(first, first + len(parts)))
        self.slots.extend(parts)
        self._active.extend(b"\1" * len(parts))

    def remove(self, job: JobId) -> Holding:
        """Take a job off the books, and return all that it held."""
        slots = self._slots_of.pop(job)
        for slot in slots:
            self._active[slot] = 0
        whole = self.slots[slots[0]]
        if len(slots) == 1 and not whole.num_surplus:
            return whole
        return replace(whole, placement=self._held(slots), num_surplus=0)

    def remove_piece(self, slot: int) -> Holding:
        """Take a piece of surplus off the books, and return it."""
        piece = self.slots[slot]
        self._slots_of[piece.job.id] = tuple(each for each in self._slots_of[piece.job.id] if each != slot)
        self._active[slot] = 0
        return piece

    def slot_of(self, job: JobId) -> int:
        """The slot of a job that stays."""
        return self._slots_of[job][0]

    def slots_with(self, slot: int) -> tuple[int, ...]:
        """The slots that leave when this one does: with a whole job its surplus."""
        return (slot,) if self.slots[slot].is_surplus else self._slots_of[self.slots[slot].job.id]

    def placement_of(self, job: JobId) -> Placement:
        """All that the job holds, in rank order."""
        return self._held(self._slots_of[job])

    def columns(self) -> Columns:
        """The columns of all slots so far."""
        known = len(self._columns.queue)
        if known < len(self.slots):
            added = _rows(self.slots[known:], supply=self._supply, first_slot=known)
            pairs = zip(self._tables, added, strict=True)
            self._tables = tuple(table.grown(rows) for table, rows in pairs)
            self._columns = _as_columns(self._tables)
        return self._columns

    def active(self) -> BoolArray:
        """Which slots are still held by a job that stays."""
        return np.frombuffer(bytes(self._active), dtype=np.bool_)

    def _copy_into(self, other: "Holdings") -> "Holdings":
        other._supply = self._supply
        other._columns, other._tables = self.columns(), self._tables
        other.slots, other._slots_of = self.slots.copy(), self._slots_of.copy()
        other._active = self._active.copy()
        return other

    def _compacted(self) -> "Holdings":
        holdings = Holdings(self._supply)
        for slots in self._slots_of.values():
            whole = replace(self.slots[slots[0]], placement=self._held(slots), num_surplus=0)
            holdings.add(whole)
        return holdings

    def _held(self, slots: tuple[int, ...]) -> Placement:
        if len(slots) == 1:
            return self.slots[slots[0]].placement
        in_rank_order = (slots[0], *reversed(slots[1:]))
        return tuple(worker for slot in in_rank_order for worker in self.slots[slot].placement)


class HoldingsNow(Holdings):
    """The holdings while one plan is made: `priority` is the rank by the policy's order, `cost` what evicting
    each slot now would lose (nothing, for one that starts in this plan).
    """

    def begin(self, now_ms: int, ranking: Ranking) -> None:
        """Fix the moment."""
        self._now_ms = now_ms
        self._ranking = ranking
        self._lowest: dict[int, int] | None = None
        self._cost: IntArray = np.zeros(0, dtype=np.int64)
        self._rank: IntArray = np.zeros(0, dtype=np.int64)

    def add(self, holding: Holding) -> None:
        """Book a holding."""
        super().add(holding)
        if self._lowest is not None and holding.job.preemptible:
            rank = self._ranking.rank_of(holding.job)
            self._lowest[holding.queue] = min(self._lowest.get(holding.queue, rank), rank)

    def lowest_rank(self, queue: int) -> float:
        """No preemptible job that holds devices in this queue has a lower rank."""
        if self._lowest is None:
            self._lowest = self._find_lowest()
        return self._lowest.get(queue, math.inf)

    def ranks(self) -> IntArray:
        """The rank of each slot by the policy's order."""
        columns = self.columns()
        if len(self._rank) != len(columns.queue):
            self._rank = self._ranking.ranks(columns)
        return self._rank

    def costs(self) -> IntArray:
        """What evicting each slot loses, in milli-accelerators x ms."""
        columns = self.columns()
        if len(self._cost) != len(columns.queue):
            since = np.maximum(self._now_ms - columns.saved_at_ms, 0)
            lost_ms: IntArray = since + columns.restart_ms + self._ranking.lateness(columns)
            self._cost = np.where(columns.is_new, 0, columns.weight * lost_ms)
        return self._cost

    def _find_lowest(self) -> dict[int, int]:
        columns, ranks = self.columns(), self.ranks()
        lowest: dict[int, int] = {}
        chosen = np.flatnonzero(self.active() & columns.evictable)
        for queue in np.flatnonzero(np.bincount(columns.queue[chosen])).tolist():
            lowest[queue] = int(ranks[chosen[columns.queue[chosen] == queue]].min())
        return lowest


def give_back(free: Free, columns: Columns, chosen: BoolArray, *, times: int = 1) -> IntArray:
    """Give back everything that the chosen slots hold (`times=-1` takes it), and return on which nodes."""
    rows = chosen[columns.device_slot]
    where = (columns.device_node[rows], columns.device_index[rows])
    np.add.at(free.devices, where, times * columns.device_milli[rows])
    rows = chosen[columns.worker_slot]
    nodes = columns.worker_node[rows]
    np.add.at(free.cpus, nodes, times * columns.worker_cpus[rows])
    np.add.at(free.memory, nodes, times * columns.worker_memory[rows])
    touched = np.flatnonzero(np.bincount(nodes, minlength=len(free.cpus)))
    free.recount(touched)
    return touched


def _rows(slots: Iterable[Holding], *, supply: Supply, first_slot: int) -> tuple[IntArray, ...]:
    """The rows of these slots, of their workers and of these' devices, each as [column, row]."""
    jobs: list[tuple[int, ...]] = []
    workers: list[tuple[int, ...]] = []
    devices: list[tuple[int, ...]] = []
    for slot, holding in enumerate(slots, start=first_slot):
        shape = shape_of(holding.job)
        jobs.append(_job_row(holding))
        for worker in holding.placement:
            node = supply.index.get(worker.node)
            if node is not None:  # on a node that is gone it holds nothing that could be freed
                workers.append((slot, node, shape.cpus_milli, shape.memory_bytes))
                devices.extend((slot, node, index, shape.device_milli) for index in worker.devices)
    by_job, by_worker, by_device = (
        _table(jobs, JOB_COLUMNS),
        _table(workers, WORKER_COLUMNS),
        _table(devices, DEVICE_COLUMNS),
    )
    return by_job, by_worker, by_device[:, by_device[2] < supply.width]


def _as_columns(tables: tuple[GrowingTable, ...]) -> Columns:
    by_job, by_worker, by_device = (table.columns() for table in tables)
    numbers = dict(zip(JOB_COLUMNS, by_job, strict=True))
    flags = {name: numbers.pop(name) > 0 for name in ("evictable", "is_new", "is_surplus")}
    workers = dict(zip(WORKER_COLUMNS, by_worker, strict=True))
    devices = dict(zip(DEVICE_COLUMNS, by_device, strict=True))
    return Columns(**numbers, **flags, **workers, **devices)


def _parts(holding: Holding) -> tuple[Holding, ...]:
    """The job's part first, then the pieces from the last ranks on: of equal ones, these leave first. What
    starts in this plan is at its least size.
    """
    if holding.is_new or not holding.job.is_elastic:
        return (holding,)
    least, *pieces = in_pieces(holding.job, holding.placement)
    whole = replace(holding, placement=least, num_surplus=len(holding.placement) - len(least))
    return whole, *(replace(holding, placement=piece, is_surplus=True) for piece in reversed(pieces))


def _job_row(holding: Holding) -> tuple[int, ...]:
    """A job without accelerators weighs one thousandth of a device per worker, so that its work is not free.
    A piece of surplus loses no work: it costs one for each worker, or a little more if the restart is slow,
    and so less than any whole job, which is taken to lose a millisecond at least.
    """
    job = holding.job
    placed_at_ms = 0 if job.placed_at_ms is None else job.placed_at_ms
    num_workers = len(holding.placement) + holding.num_surplus
    weight = num_workers * (1 if holding.is_surplus else job.accelerators_milli or 1)
    restart_ms = job.restart_cost_ms + 1
    if holding.is_surplus:
        restart_ms = min(1 + job.restart_cost_ms // 1000, MOST_FOR_PIECE)
    has_begun = holding.is_new or job.placed_at_ms is not None
    return (
        holding.queue,
        job.priority,
        job.preemptible and not holding.is_final,
        placed_at_ms,
        NO_WORK_LOST if holding.is_surplus else max(placed_at_ms, job.saved_at_ms or 0),
        0 if job.placed_at_ms is None else weight,
        restart_ms,
        job.attained_milli_ms,
        remaining_service(job),
        NO_LIMIT_MS if job.max_runtime_ms is None or not has_begun else job.max_runtime_ms,
        NO_LIMIT_MS if job.predicted_ms is None or not has_begun else job.predicted_ms,
        holding.is_new,
        holding.is_surplus,
        holding.amount_milli,
        num_workers * job.accelerators_milli,
        *_as_numbers(job.id),
    )


def _as_numbers(name: JobId) -> tuple[int, int]:
    """The first 14 bytes of an id as two numbers, in the order of ids."""
    text = name.encode()[: 2 * NAME_BYTES].ljust(2 * NAME_BYTES, b"\0")
    return int.from_bytes(text[:NAME_BYTES]), int.from_bytes(text[NAME_BYTES:])


def _table(rows: list[tuple[int, ...]], names: tuple[str, ...]) -> IntArray:
    """Rows as columns of integers."""
    return np.array(rows, dtype=np.int64).reshape(-1, len(names)).T
