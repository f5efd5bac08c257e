"""Who could be evicted for one job, seen from each node (or part of a node) on which they hold something."""

from dataclasses import dataclass

import numpy as np

from scheduling.amounts import DEVICE_MILLI, Request
from scheduling.columns import Columns
from scheduling.model import Job
from scheduling.placement import UNBOUNDED
from scheduling.standing import Standing
from scheduling.supply import BoolArray, Free, IntArray


class Claimant:
    """The job that victims are sought for, and what stands in its way (`reclaim`: see `reclaimable`)."""

    def __init__(
        self,
        standing: Standing,
        job: Job,
        *,
        reclaim: dict[int, tuple[int, ...]],
        request: Request,
        inside: BoolArray | None = None,
    ) -> None:
        self.standing = standing
        self.request = request
        self.shape = request.kind.shape
        self.queue = standing.queue_of(job)
        self.reclaim = reclaim
        self.over_limits = standing.tree.limits_later(self.queue, job.total_milli)
        self.domains = standing.placer.required(request.kind)
        self.inside_of = inside
        self.later = standing.later if inside is None else _closed_outside(standing.later, inside)
        self._surplus: list[int] | None = None

    def surplus(self) -> list[int]:
        """What each queue holds in surplus of elastic jobs, all below it included."""
        if self._surplus is None:
            self._surplus = _surplus_by_queue(self.standing)
        return self._surplus

    def counts(self, free: Free) -> IntArray:
        """Workers of this job that each unit holds. Not to be changed."""
        return self.standing.placer.fit(free, self.request.kind, by_part=self.domains.by_part).counts()

    def room(self, free: Free, domain: int) -> int:
        """Workers that a domain holds, in whole tensor groups."""
        kind, grouping = self.request.kind, self.domains
        fit = self.standing.placer.fit(free, kind, by_part=grouping.by_part)
        return int(fit.totals(grouping, group_workers=kind.group_workers)[domain])

    def node_of(self, units: IntArray) -> IntArray:
        """The node of each unit."""
        return self.standing.topology.part_node[units] if self.domains.by_part else units

    def inside(self, queue: int) -> list[int]:
        """The queues in the subtree of this one."""
        return [number for number, chain in enumerate(self.standing.tree.chains) if queue in chain]


def _surplus_by_queue(standing: Standing) -> list[int]:
    columns = standing.holdings.columns()
    slots = standing.holdings.active() & columns.is_surplus
    totals = [0] * len(standing.tree.queues)
    for queue, amount in zip(columns.queue[slots].tolist(), columns.amount[slots].tolist(), strict=True):
        for number in standing.tree.chains[queue]:
            totals[number] += amount
    return totals


def _closed_outside(free: Free, inside: BoolArray) -> Free:
    """The same account with all other nodes closed."""
    return Free(devices=free.devices, cpus=free.cpus, memory=free.memory, open_nodes=free.open & inside)


@dataclass(frozen=True, slots=True)
class Rows:
    """A row for each holding (by slot) and each unit on which it holds something: how many devices it holds
    there, in whole or in part, and what of the node.
    """

    slot: IntArray
    unit: IntArray
    devices: IntArray
    cpus: IntArray
    memory: IntArray

    def only(self, chosen: BoolArray | IntArray) -> "Rows":
        """These rows, in this order."""
        return Rows(*(column[chosen] for column in self.columns()))

    def columns(self) -> tuple[IntArray, ...]:
        """All columns."""
        return self.slot, self.unit, self.devices, self.cpus, self.memory


@dataclass(frozen=True, slots=True)
class Offers:
    """Ways to make room, one for each row: what leaves, at which cost, and how many workers that gains.

    The `length` rows up to and including this one leave.
    """

    cost: IntArray
    gained: IntArray
    length: IntArray

    def joined(self, other: "Offers") -> "Offers":
        """These, then the others."""
        return Offers(
            np.concatenate([self.cost, other.cost]),
            np.concatenate([self.gained, other.gained]),
            np.concatenate([self.length, other.length]),
        )


def rows_of(standing: Standing, columns: Columns, *, by_part: bool) -> Rows:
    """The rows of all holdings, by unit."""
    by_node = _by_node(standing, columns)
    rows = _by_part(standing, columns, by_node) if by_part else by_node
    return rows.only(np.lexsort((rows.slot, rows.unit)))


def prefixes(claimant: Claimant, rows: Rows, *, free: Free, counts: IntArray) -> Offers:
    """For each row: all rows of its unit up to this one leave. Rows have to be grouped by unit."""
    return _offers(claimant, rows, first=_first_of_unit(rows.unit), free=free, counts=counts)


def singles(claimant: Claimant, rows: Rows, *, free: Free, counts: IntArray) -> Offers:
    """For each row: it leaves alone, which gains on every unit on which the same job has a row."""
    alone = np.arange(len(rows.unit))
    offers = _offers(claimant, rows, first=alone, free=free, counts=counts)
    if not alone.size:
        return offers
    gained = np.bincount(rows.slot, weights=np.maximum(offers.gained, 0)).astype(np.int64)
    return Offers(offers.cost, gained[rows.slot], offers.length)


def _offers(claimant: Claimant, rows: Rows, *, first: IntArray, free: Free, counts: IntArray) -> Offers:
    """The rows from the first one named leave together.

    A device that somebody holds a part of is counted as if it became free altogether, so what is gained may
    be less: whoever chooses by this has to count again on the exact devices.
    """
    nodes, shape = claimant.node_of(rows.unit), claimant.shape
    after = _workers_by_devices(claimant, rows, first, free)
    if shape.cpus_milli:
        after = np.minimum(after, (free.cpus[nodes] + _running(rows.cpus, first)) // shape.cpus_milli)
    if shape.memory_bytes:
        after = np.minimum(after, (free.memory[nodes] + _running(rows.memory, first)) // shape.memory_bytes)
    gained = np.where(free.open[nodes], after - counts[rows.unit], 0)
    length = np.arange(len(first)) - first + 1
    return Offers(_running(claimant.standing.holdings.costs()[rows.slot], first), gained, length)


def _workers_by_devices(claimant: Claimant, rows: Rows, first: IntArray, free: Free) -> IntArray:
    shape, placer, by_part = claimant.shape, claimant.standing.placer, claimant.domains.by_part
    if not shape.num_devices:
        return np.full(len(first), UNBOUNDED)
    freed = _running(rows.devices, first)
    if shape.is_fraction:
        now = placer.workers_by_devices(free, shape, by_part=by_part)[rows.unit]
        return now + freed * (DEVICE_MILLI // shape.device_milli)
    return (placer.whole_devices(free, by_part=by_part)[rows.unit] + freed) // shape.num_devices


def _by_node(standing: Standing, columns: Columns) -> Rows:
    """Workers (and their devices) of the same slot on the same node are one row."""
    num_nodes = len(standing.supply.nodes)
    keys = columns.worker_slot * num_nodes + columns.worker_node
    unique, row = np.unique(keys, return_inverse=True)
    device_row = np.searchsorted(unique, columns.device_slot * num_nodes + columns.device_node)

    def total(rows: IntArray, amounts: IntArray) -> IntArray:
        return np.bincount(rows, weights=amounts, minlength=len(unique)).astype(np.int64)

    return Rows(
        unique // max(num_nodes, 1),
        unique % max(num_nodes, 1),
        np.bincount(device_row, minlength=len(unique)),
        total(row, columns.worker_cpus),
        total(row, columns.worker_memory),
    )


def _by_part(standing: Standing, columns: Columns, rows: Rows) -> Rows:
    """A row for each part of the node: the devices in that part, the processors and memory of the node."""
    topology = standing.topology
    num_parts = len(topology.part_node)
    per_node = np.bincount(topology.part_node, minlength=len(standing.supply.nodes))
    repeats = per_node[rows.unit]
    spread = rows.only(np.repeat(np.arange(len(rows.unit)), repeats))
    step = np.arange(len(spread.unit)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    unit = (np.cumsum(per_node) - per_node)[spread.unit] + step
    keys, order = np.unique(spread.slot * num_parts + unit, return_inverse=True)
    part = topology.part_of[columns.device_node, columns.device_index]
    held = columns.device_slot[part >= 0] * num_parts + part[part >= 0]
    devices = np.bincount(np.searchsorted(keys, held), minlength=len(keys))
    return Rows(spread.slot, unit, devices[order.reshape(-1)], spread.cpus, spread.memory)


def _first_of_unit(unit: IntArray) -> IntArray:
    """For each row the first row of its unit."""
    starts = np.flatnonzero(np.diff(unit, prepend=-1))
    return np.repeat(starts, np.diff(np.append(starts, unit.size)))


def _running(amounts: IntArray, first: IntArray) -> IntArray:
    """Running sums that begin anew at each unit."""
    sums = np.cumsum(amounts)
    return sums - (sums[first] - amounts[first])
