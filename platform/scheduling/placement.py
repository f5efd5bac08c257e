"""Where a gang goes: how many workers a place holds, which place is taken, and which devices on it.

Rule: types in the job's order; then the smallest domain that fits; then the one left least fragmented;
inside it as few and as near sub-domains and nodes as can be; on a node the fullest link domain that
suffices.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scheduling.amounts import DEVICE_MILLI, Kind, Request, Shape
from scheduling.model import Packing, Placement, Worker
from scheduling.supply import BoolArray, Free, IntArray, Supply
from scheduling.topology import NOWHERE, Grouping, Topology

UNBOUNDED = 1 << 20  # workers on a node, for a shape that takes nothing of it


@dataclass(frozen=True, slots=True)
class Place:
    """Devices for a whole gang, in rank order, on one accelerator type ("" where types do not matter)."""

    placement: Placement
    accelerator_type: str


class Placer:
    """Answers "how many fit?" and "where?" for one cluster, on any account of what is free."""

    def __init__(self, supply: Supply, topology: Topology, *, packing: Packing) -> None:
        self._supply = supply
        self._topology = topology
        self._packing = packing
        self._allowed: dict[tuple[int, tuple[str, ...]], BoolArray] = {}

    def most_workers(self, free: Free, kind: Kind) -> int:
        """The most workers of a kind that one allowed domain of one allowed type holds."""
        totals = self.totals(free, kind)
        return int(totals.max()) if totals.size else 0

    def totals(self, free: Free, kind: Kind) -> IntArray:
        """Workers of a kind that each domain of the required levels holds; 0 on other types."""
        grouping = self.required(kind)
        counts = grouping.totals(self.workers(free, kind.shape, by_part=grouping.by_part))
        return np.where(self.allowed(grouping, kind.types), counts, 0)

    def required(self, kind: Kind) -> Grouping:
        """The domains that a whole gang of this kind has to stay inside."""
        return self._topology.grouping(frozenset(kind.required), typed=kind.is_typed)

    def allowed(self, grouping: Grouping, types: tuple[str, ...]) -> BoolArray:
        """Which domains are of one of these types; no type: all of them."""
        key = (id(grouping), types)  # groupings live as long as the topology does
        if key not in self._allowed:
            numbers = [number for number, name in enumerate(self._supply.types) if name in types]
            every = np.ones(grouping.num_domains, dtype=np.bool_)
            self._allowed[key] = np.isin(grouping.type_of, numbers) if types else every
        return self._allowed[key]

    def place(self, free: Free, request: Request) -> Place | None:
        """The best place for the gang on what is free, or nothing."""
        found = (self._place_on(free, request, types) for types in type_choices(request.kind))
        return next((place for place in found if place is not None), None)

    def type_on(self, placement: Placement, kind: Kind) -> str | None:
        """The accelerator type of a gang placed like this; nothing if its types or levels forbid it."""
        grouping = self.required(kind)
        units = self._units(placement, by_part=grouping.by_part)
        domains = {int(grouping.domain[unit]) if unit != NOWHERE else NOWHERE for unit in units}
        domain = min(domains, default=NOWHERE)
        if len(domains) != 1 or domain == NOWHERE or not self.allowed(grouping, kind.types)[domain]:
            return None
        return self._type_name(grouping, domain)

    def workers(self, free: Free, shape: Shape, *, by_part: bool) -> IntArray:
        """How many workers of a shape each unit holds: the scarcest resource decides."""
        nodes = self._topology.part_node if by_part else np.arange(len(free.cpus))
        counts = np.where(free.open[nodes], self.workers_by_devices(free, shape, by_part=by_part), 0)
        if shape.cpus_milli:
            counts = np.minimum(counts, np.maximum(free.cpus, 0)[nodes] // shape.cpus_milli)
        if shape.memory_bytes:
            counts = np.minimum(counts, np.maximum(free.memory, 0)[nodes] // shape.memory_bytes)
        return counts

    def workers_by_devices(self, free: Free, shape: Shape, *, by_part: bool) -> IntArray:
        """How many workers of a shape the devices of each unit hold."""
        if not shape.num_devices:
            size = len(self._topology.part_node) if by_part else len(free.cpus)
            return np.full(size, UNBOUNDED, dtype=np.int64)
        if not shape.is_fraction:
            return self.whole_devices(free, by_part=by_part) // shape.num_devices
        shares = np.maximum(free.devices, 0) // shape.device_milli
        if not by_part:
            return np.asarray(shares.sum(axis=1))
        known = self._topology.part_of >= 0
        size = len(self._topology.part_node)
        sums = np.bincount(self._topology.part_of[known], weights=shares[known], minlength=size)
        return sums.astype(np.int64)

    def whole_devices(self, free: Free, *, by_part: bool) -> IntArray:
        """Whole free devices of each unit."""
        if not by_part:
            return free.whole
        parts = self._topology.part_of[free.devices == DEVICE_MILLI]
        return np.bincount(parts[parts >= 0], minlength=len(self._topology.part_node)).astype(np.int64)

    def _place_on(self, free: Free, request: Request, types: tuple[str, ...]) -> Place | None:
        kind = request.kind
        for grouping in self._rungs(request):
            counts = self.workers(free, kind.shape, by_part=grouping.by_part)
            totals = np.where(self.allowed(grouping, types), grouping.totals(counts), 0)
            fitting = np.flatnonzero(totals >= request.num_workers)
            if fitting.size:
                domain = self._choose(fitting, grouping, totals)
                return self._fill(free, request, grouping, domain=domain, counts=counts)
        return None

    def _rungs(self, request: Request) -> tuple[Grouping, ...]:
        """Spreading, only the wishes count; else every level of the tree is tried from the narrowest."""
        wished = request.preferred
        if self._packing is Packing.CONSOLIDATE:
            wished = (*self._topology.ladder, *request.preferred)
        return self._topology.rungs(request.kind.required, wished, typed=request.kind.is_typed)

    def _choose(self, fitting: IntArray, grouping: Grouping, totals: IntArray) -> int:
        """The smallest domain, then the one with the least room (spreading: the most), then by order."""
        if self._packing is Packing.SPREAD:
            return int(fitting[np.argmax(totals[fitting])])
        return int(fitting[np.lexsort((fitting, totals[fitting], grouping.size[fitting]))[0]])

    def _fill(
        self, free: Free, request: Request, grouping: Grouping, *, domain: int, counts: IntArray
    ) -> Place:
        """Workers for the units of one domain, then devices for each worker."""
        units = np.flatnonzero(grouping.domain == domain)
        whole = self.whole_devices(free, by_part=grouping.by_part)[units]
        if self._packing is Packing.SPREAD:
            taken = _spread(counts[units], request.num_workers)
        else:
            inner = [ids[units] for ids in self._topology.ids_inside(grouping)]
            taken = _consolidate(counts[units], request.num_workers, whole=whole, inner=inner)
        workers = self._workers_on(free, request.kind.shape, grouping, dict(zip(units, taken, strict=True)))
        return Place(tuple(workers), self._type_name(grouping, domain))

    def _type_name(self, grouping: Grouping, domain: int) -> str:
        number = int(grouping.type_of[domain])
        return "" if number == NOWHERE else self._supply.types[number]

    def _units(self, placement: Placement, *, by_part: bool) -> set[int]:
        """The units that a placement on known nodes touches."""
        rows = [(self._supply.index[worker.node], worker.devices) for worker in placement]
        if not by_part:
            return {node for node, _ in rows}
        return {int(self._topology.part_of[node, device]) for node, devices in rows for device in devices}

    def _workers_on(
        self, free: Free, shape: Shape, grouping: Grouping, taken: dict[int, int]
    ) -> Iterator[Worker]:
        for unit, num_workers in taken.items():
            node = int(self._topology.part_node[unit]) if grouping.by_part else unit
            links = self._topology.links[node].tolist()
            room = free.devices[node].tolist()
            if grouping.by_part:  # devices of the node's other link domains are out of bounds
                own = int(self._topology.part_link[unit])
                room = [milli if link == own else 0 for milli, link in zip(room, links, strict=True)]
            for _ in range(num_workers):
                yield Worker(node=self._supply.names[node], devices=take_devices(room, links, shape))


def type_choices(kind: Kind) -> tuple[tuple[str, ...], ...]:
    """The types to try in turn; a job that takes any is shown all at once, and gets the best place."""
    return tuple((name,) for name in kind.types) or ((),)


def take_devices(room: list[int], links: list[int], shape: Shape) -> tuple[int, ...]:
    """Takes one worker's devices out of `room` (free milli of each device of a node) and returns their
    indices.

    A fraction goes where least is left. Whole devices come from the link domain with the fewest free ones
    that suffices; if none does, from the largest ones.
    """
    if not shape.num_devices:
        return ()
    if shape.is_fraction:
        device = min((milli, index) for index, milli in enumerate(room) if milli >= shape.device_milli)[1]
        room[device] -= shape.device_milli
        return (device,)
    chosen = _whole_devices(room, links, shape.num_devices)
    for device in chosen:
        room[device] = 0
    return chosen


def _whole_devices(room: list[int], links: list[int], wanted: int) -> tuple[int, ...]:
    domains: dict[int, list[int]] = {}
    for index, milli in enumerate(room):
        if milli == DEVICE_MILLI:
            domains.setdefault(links[index], []).append(index)
    enough = [devices for devices in domains.values() if len(devices) >= wanted]
    if enough:
        return tuple(min(enough, key=len)[:wanted])
    largest_first = sorted(domains.values(), key=len, reverse=True)
    chosen = [device for devices in largest_first for device in devices][:wanted]
    return tuple(sorted(chosen))


def _consolidate(counts: IntArray, wanted: int, *, whole: IntArray, inner: list[IntArray]) -> IntArray:
    """Workers for each unit: into as few domains of each inner level as possible, then into as few units."""
    if not inner:
        return _fewest(counts, wanted, whole)
    ids, *narrower = inner
    taken = np.zeros_like(counts)
    names, number = np.unique(ids, return_inverse=True)
    totals = np.bincount(number, weights=counts, minlength=len(names)).astype(np.int64)
    rooms = np.bincount(number, weights=whole, minlength=len(names)).astype(np.int64)
    shares = _fewest(totals, wanted, rooms)
    for domain in np.flatnonzero(shares):
        units = np.flatnonzero(number == domain)
        taken[units] = _consolidate(
            counts[units], int(shares[domain]), whole=whole[units], inner=[level[units] for level in narrower]
        )
    return taken


def _fewest(counts: IntArray, wanted: int, room: IntArray) -> IntArray:
    """The fewest boxes: the largest ones full, and the rest in the smallest one that holds it.

    Among equals the one with the fewest free devices, so that little is left over.
    """
    taken = np.zeros_like(counts)
    order = np.lexsort((room, -counts))
    sums = np.cumsum(counts[order])
    full = order[sums <= wanted]
    taken[full] = counts[full]
    rest = wanted - int(counts[full].sum())
    if rest:
        left = np.flatnonzero((taken == 0) & (counts >= rest))
        taken[left[np.lexsort((room[left], counts[left]))[0]]] = rest
    return taken


def _spread(counts: IntArray, wanted: int) -> IntArray:
    """One worker at a time to the unit with the most room left."""
    taken = np.zeros_like(counts)
    heap = [(-int(count), unit) for unit, count in enumerate(counts) if count > 0]
    heapq.heapify(heap)
    for _ in range(wanted):
        left, unit = heap[0]
        taken[unit] += 1
        if left == -1:
            heapq.heappop(heap)
        else:
            heapq.heapreplace(heap, (left + 1, unit))
    return taken
