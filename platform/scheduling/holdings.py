"""Who holds what, as columns, so that a search for victims is arithmetic on arrays."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from scheduling.amounts import lost_work, shape_of
from scheduling.model import Job, JobId, Placement
from scheduling.supply import BoolArray, Free, IntArray, Supply


@dataclass(frozen=True, slots=True)
class Holding:
    """One job's devices. A new one starts in this plan: taking that back evicts nobody and loses nothing; a
    final one is not taken back (again).
    """

    job: Job
    placement: Placement
    queue: int
    is_new: bool = False
    is_final: bool = False

    @property
    def amount_milli(self) -> int:
        """What its queue is charged."""
        return len(self.placement) * self.job.accelerators_milli


@dataclass(frozen=True, slots=True)
class Columns:
    """Holdings by slot, then a row per worker, then a row per device of each worker."""

    queue: IntArray
    priority: IntArray
    evictable: BoolArray
    placed_at_ms: IntArray
    is_new: BoolArray
    amount: IntArray
    cost: IntArray  # lost work
    worker_slot: IntArray
    worker_node: IntArray
    worker_cpus: IntArray
    worker_memory: IntArray
    device_slot: IntArray
    device_node: IntArray
    device_index: IntArray
    device_milli: IntArray


class Holdings:
    """All holdings that stay. Slots are never used again; a slot that left is not `active` any more."""

    def __init__(self, supply: Supply, *, now_ms: int) -> None:
        self.slots: list[Holding] = []
        self._supply = supply
        self._now_ms = now_ms
        self._slot_of: dict[JobId, int] = {}
        self._active: list[bool] = []
        self._lowest: dict[int, int] = {}
        self._columns = _columns([], supply=supply, first_slot=0, now_ms=now_ms)

    def add(self, holding: Holding) -> None:
        """Book a holding."""
        self._slot_of[holding.job.id] = len(self.slots)
        self.slots.append(holding)
        self._active.append(True)
        if holding.job.preemptible:
            lowest = self._lowest.get(holding.queue, holding.job.priority)
            self._lowest[holding.queue] = min(lowest, holding.job.priority)

    def remove(self, job: JobId) -> Holding:
        """Take a holding off the books, and return it."""
        slot = self._slot_of.pop(job)
        self._active[slot] = False
        return self.slots[slot]

    def lowest_priority(self, queue: int) -> float:
        """No preemptible job that holds devices in this queue has a lower priority."""
        return self._lowest.get(queue, math.inf)

    def columns(self) -> Columns:
        """The columns of all slots so far."""
        known = len(self._columns.queue)
        if known < len(self.slots):
            added = _columns(self.slots[known:], supply=self._supply, first_slot=known, now_ms=self._now_ms)
            self._columns = _joined(self._columns, added)
        return self._columns

    def active(self) -> BoolArray:
        """Which slots are still held by a job that stays."""
        return np.array(self._active, dtype=np.bool_)


def give_back(free: Free, columns: Columns, chosen: BoolArray, *, times: int = 1) -> None:
    """Give back everything that the chosen slots hold; `times=-1` takes it."""
    rows = chosen[columns.device_slot]
    where = (columns.device_node[rows], columns.device_index[rows])
    np.add.at(free.devices, where, times * columns.device_milli[rows])
    rows = chosen[columns.worker_slot]
    nodes = columns.worker_node[rows]
    np.add.at(free.cpus, nodes, times * columns.worker_cpus[rows])
    np.add.at(free.memory, nodes, times * columns.worker_memory[rows])
    free.recount(np.unique(nodes))


def _columns(slots: Iterable[Holding], *, supply: Supply, first_slot: int, now_ms: int) -> Columns:
    jobs: list[tuple[int, ...]] = []
    workers: list[tuple[int, ...]] = []
    devices: list[tuple[int, ...]] = []
    for slot, holding in enumerate(slots, start=first_slot):
        job, shape = holding.job, shape_of(holding.job)
        placed_at_ms = 0 if job.placed_at_ms is None else job.placed_at_ms
        cost = 0 if holding.is_new else lost_work(job, now_ms=now_ms)
        evictable = job.preemptible and not holding.is_final
        state = (holding.queue, job.priority, evictable, placed_at_ms, holding.is_new)
        jobs.append((*state, holding.amount_milli, cost))
        for worker in holding.placement:
            node = supply.index.get(worker.node)
            if node is not None:  # on a node that is gone it holds nothing that could be freed
                workers.append((slot, node, shape.cpus_milli, shape.memory_bytes))
                devices.extend((slot, node, index, shape.device_milli) for index in worker.devices)
    by_job, by_worker, by_device = _table(jobs, 7), _table(workers, 4), _table(devices, 4)
    by_device = by_device[:, by_device[2] < supply.width]
    return Columns(
        by_job[0],
        by_job[1],
        by_job[2] > 0,
        by_job[3],
        by_job[4] > 0,
        by_job[5],
        by_job[6],
        *by_worker,
        *by_device,
    )


def _table(rows: list[tuple[int, ...]], width: int) -> IntArray:
    """Rows as columns of integers."""
    return np.array(rows, dtype=np.int64).reshape(-1, width).T


def _joined(one: Columns, other: Columns) -> Columns:
    columns: dict[str, Any] = {
        field.name: np.concatenate([getattr(one, field.name), getattr(other, field.name)])
        for field in fields(Columns)
    }
    return Columns(**columns)
