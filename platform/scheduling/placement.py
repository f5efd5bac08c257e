"""Where a gang goes: how many workers a place holds, which place is taken, and which devices on it.

Rule: types in the job's order; then the smallest domain that fits; then the one left least fragmented;
inside it as few and as near sub-domains and nodes as can be; on a node the fullest link domain that
suffices.
"""

import heapq
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import partial

import numpy as np

from scheduling.amounts import DEVICE_MILLI, Kind, Request, Shape
from scheduling.fits import Fit
from scheduling.fragmentation import NO_DEVICE, Mix
from scheduling.least_loss import LeastLoss
from scheduling.model import NODE_LEVEL, Node, Packing, Placement, Selector, Worker
from scheduling.supply import BoolArray, Free, IntArray, Supply
from scheduling.topology import NOWHERE, Grouping, Topology

UNBOUNDED = 1 << 20  # workers on a node, for a shape that takes nothing of it
ROOM_BITS = 40  # of a number in which the size of a domain counts before its room


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
        self._least_loss: LeastLoss | None = None
        self._allowed: dict[tuple[Grouping, tuple[str, ...]], BoolArray] = {}
        self._reached: dict[tuple[Selector, ...], BoolArray] = {}

    def expecting(self, mix: Callable[[], Mix]) -> "Placer":
        """This placer, but choosing nodes that are left least fragmented for a mix (asked for late)."""
        placer = copy(self)
        placer._least_loss = LeastLoss(self._supply, mix)
        return placer

    def most_workers(self, free: Free, kind: Kind) -> int:
        """The most workers of a kind that one allowed domain of one allowed type holds."""
        totals = self.totals(free, kind)
        return int(totals.max()) if totals.size else 0

    def totals(self, free: Free, kind: Kind) -> IntArray:
        """Workers of a kind that each domain of the required levels holds; 0 on other types."""
        return self._totals_on(free, kind, self.required(kind), kind.types)

    def fit(self, free: Free, kind: Kind, *, by_part: bool) -> Fit:
        """The counts of this kind of worker on an account, kept with it."""
        key = (kind.shape, kind.selectors, by_part)
        fit: Fit | None = free.fits.get(key)
        if fit is None:
            source = free.origin.fits.get(key) if free.origin is not None else None
            if source is not None:
                fit = source.copied_for(free)
            else:
                counting = partial(self._count, kind=kind, by_part=by_part)
                fit = Fit(free, self._topology, counting, by_part=by_part)
            free.fits[key] = fit
        return fit

    def required(self, kind: Kind) -> Grouping:
        """The domains that a whole gang of this kind has to stay inside."""
        levels = frozenset(kind.required)
        return self._topology.grouping(levels, typed=kind.is_typed, grouped=kind.group_workers > 1)

    def allowed(self, grouping: Grouping, types: tuple[str, ...]) -> BoolArray:
        """Which domains are of one of these types; no type: all of them."""
        key = (grouping, types)
        if key not in self._allowed:
            numbers = [number for number, name in enumerate(self._supply.types) if name in types]
            every = np.ones(grouping.num_domains, dtype=np.bool_)
            self._allowed[key] = np.isin(grouping.type_of, numbers) if types else every
        return self._allowed[key]

    def reached(self, kind: Kind, *, by_part: bool) -> BoolArray | None:
        """Which units the job's selectors leave; nothing if it has none."""
        if not kind.selectors:
            return None
        units = np.arange(self._topology.num_units(by_part=by_part))
        return self._is_reached(kind.selectors)[self._nodes(units, by_part=by_part)]

    def place(self, free: Free, request: Request, *, blocked: frozenset[str] = frozenset()) -> Place | None:
        """The best place for the gang on what is free, or nothing. Types that are blocked are not used."""
        choices = type_choices(request.kind)
        if blocked and request.kind.is_typed:
            choices = self._without(choices, blocked)
        found = (self._place_on(free, request, types) for types in choices)
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
        units = np.arange(self._topology.num_units(by_part=by_part))
        return self._workers(free, shape, units, by_part=by_part)

    def workers_by_devices(self, free: Free, shape: Shape, *, by_part: bool) -> IntArray:
        """How many workers of a shape the devices of each unit hold."""
        units = np.arange(self._topology.num_units(by_part=by_part))
        return self._by_devices(free, shape, units, by_part=by_part)

    def whole_devices(self, free: Free, *, by_part: bool) -> IntArray:
        """Whole free devices of each unit."""
        if not by_part:
            return free.whole
        return self._whole(free, np.arange(self._topology.num_units(by_part=True)), by_part=True)

    def _count(self, free: Free, units: IntArray, *, kind: Kind, by_part: bool) -> IntArray:
        counts = self._workers(free, kind.shape, units, by_part=by_part)
        if not kind.selectors:
            return counts
        return np.where(self._is_reached(kind.selectors)[self._nodes(units, by_part=by_part)], counts, 0)

    def _workers(self, free: Free, shape: Shape, units: IntArray, *, by_part: bool) -> IntArray:
        nodes = self._nodes(units, by_part=by_part)
        counts = np.where(free.open[nodes], self._by_devices(free, shape, units, by_part=by_part), 0)
        if shape.cpus_milli:
            counts = np.minimum(counts, np.maximum(free.cpus[nodes], 0) // shape.cpus_milli)
        if shape.memory_bytes:
            counts = np.minimum(counts, np.maximum(free.memory[nodes], 0) // shape.memory_bytes)
        return counts

    def _by_devices(self, free: Free, shape: Shape, units: IntArray, *, by_part: bool) -> IntArray:
        if not shape.num_devices:
            return np.full(len(units), UNBOUNDED, dtype=np.int64)
        if not shape.is_fraction:
            return self._whole(free, units, by_part=by_part) // shape.num_devices
        nodes = self._nodes(units, by_part=by_part)
        shares = np.maximum(free.devices[nodes], 0) // shape.device_milli
        if by_part:
            shares = np.where(self._topology.part_of[nodes] == units[:, None], shares, 0)
        return np.asarray(shares.sum(axis=1))

    def _whole(self, free: Free, units: IntArray, *, by_part: bool) -> IntArray:
        if not by_part:
            return free.whole[units]
        nodes = self._topology.part_node[units]
        inside = self._topology.part_of[nodes] == units[:, None]
        return np.asarray((inside & (free.devices[nodes] == DEVICE_MILLI)).sum(axis=1))

    def _nodes(self, units: IntArray, *, by_part: bool) -> IntArray:
        return self._topology.part_node[units] if by_part else units

    def _is_reached(self, selectors: tuple[Selector, ...]) -> BoolArray:
        """Which nodes have all these labels."""
        if selectors not in self._reached:
            nodes = self._supply.nodes
            reached = [all(_label(node, s.label) in s.values for s in selectors) for node in nodes]
            self._reached[selectors] = np.array(reached, dtype=np.bool_)
        return self._reached[selectors]

    def _without(
        self, choices: tuple[tuple[str, ...], ...], blocked: frozenset[str]
    ) -> tuple[tuple[str, ...], ...]:
        """The choices less the blocked types; "any" means all types."""
        left = (tuple(t for t in types or self._supply.types if t not in blocked) for types in choices)
        return tuple(types for types in left if types)

    def _totals_on(self, free: Free, kind: Kind, grouping: Grouping, types: tuple[str, ...]) -> IntArray:
        fit = self.fit(free, kind, by_part=grouping.by_part)
        totals = fit.totals(grouping, group_workers=kind.group_workers)
        return np.where(self.allowed(grouping, types), totals, 0) if types else totals

    def _place_on(self, free: Free, request: Request, types: tuple[str, ...]) -> Place | None:
        for grouping in self._rungs(request):
            totals = self._totals_on(free, request.kind, grouping, types)
            fitting = np.flatnonzero(totals >= request.num_workers)
            if fitting.size:
                place = self._with_least_loss(free, request, grouping, fitting)
                if place is not None:
                    return place
                domain = self._choose(fitting, grouping, totals)
                place = self._fill(free, request, grouping, domain=domain)
                if not grouping.by_part or self._is_on_nodes(free, request.kind.shape, place):
                    return place
        return None

    def _is_on_nodes(self, free: Free, shape: Shape, place: Place) -> bool:
        """Each part of a node is counted with all its processors and memory; together they have them once."""
        return free.has(self._supply.footprint(place.placement, shape=shape))

    def _with_least_loss(
        self, free: Free, request: Request, grouping: Grouping, fitting: IntArray
    ) -> Place | None:
        """The place by the mix, where one is expected and one unit holds the gang; else nothing."""
        single = fitting[np.diff(grouping.first)[fitting] == 1]
        if self._least_loss is None or not single.size:
            return None
        shape = request.kind.shape
        nodes = self._nodes(grouping.order[grouping.first[single]], by_part=grouping.by_part)
        in_order = np.argsort(nodes, kind="stable")  # the first of equals is taken
        single, nodes = single[in_order], nodes[in_order]
        found = self._least_loss.best_node(free, shape, num_workers=request.num_workers, nodes=nodes)
        if found is None:
            return None
        node, device = found
        domain = int(single[np.searchsorted(nodes, node)])
        if device == NO_DEVICE or grouping.by_part:
            return self._fill(free, request, grouping, domain=domain)
        worker = Worker(node=self._supply.names[node], devices=(device,))
        return Place((worker,), self._type_name(grouping, domain))

    def _rungs(self, request: Request) -> tuple[Grouping, ...]:
        """Spreading, only the wishes count; else every level of the tree is tried from the narrowest."""
        kind, wished = request.kind, request.preferred
        if self._packing is not Packing.SPREAD:
            wished = (*self._topology.ladder, *request.preferred)
        grouped = kind.group_workers > 1
        return self._topology.rungs(kind.required, wished, typed=kind.is_typed, grouped=grouped)

    def _choose(self, fitting: IntArray, grouping: Grouping, totals: IntArray) -> int:
        """The smallest domain, then the one with the least room (spreading: the most), then by order."""
        if self._packing is Packing.SPREAD:
            return int(fitting[np.argmax(totals[fitting])])
        return int(fitting[np.argmin((grouping.size[fitting] << ROOM_BITS) + totals[fitting])])

    def _fill(self, free: Free, request: Request, grouping: Grouping, *, domain: int) -> Place:
        """Workers for the units of one domain, then devices for each worker."""
        kind, units = request.kind, grouping.units(domain)
        counts = self.fit(free, kind, by_part=grouping.by_part).counts()[units]
        blocks = self._blocks(free, request, grouping, units=units, counts=counts)
        workers = [
            worker
            for chosen, taken in blocks
            for worker in self.workers_on(free, kind.shape, grouping, chosen, taken)
        ]
        return Place(tuple(workers), self._type_name(grouping, domain))

    def _blocks(
        self, free: Free, request: Request, grouping: Grouping, *, units: IntArray, counts: IntArray
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Units with the workers for each; with tensor groups, one block for each link domain."""
        group = request.kind.group_workers
        if group == 1:
            yield units, self._shared_out(free, grouping, units, counts, request.num_workers)
            return
        links = self._topology.link_of(units, by_part=grouping.by_part)
        names, number = np.unique(links, return_inverse=True)
        groups = np.bincount(number, weights=counts).astype(np.int64) // group
        groups[names == NOWHERE] = 0
        shares = _fewest(groups, request.num_workers // group, groups)
        for link in np.flatnonzero(shares):
            own = np.flatnonzero(number == link)
            wanted = int(shares[link]) * group
            yield units[own], self._shared_out(free, grouping, units[own], counts[own], wanted)

    def _shared_out(
        self, free: Free, grouping: Grouping, units: IntArray, counts: IntArray, wanted: int
    ) -> IntArray:
        """How many of the wanted workers each of these units gets."""
        if self._packing is Packing.SPREAD:
            return _spread(counts, wanted)
        if len(units) == 1:
            return np.array([wanted])
        whole = self._whole(free, units, by_part=grouping.by_part)
        inner = [ids[units] for ids in self._topology.ids_inside(grouping)]
        return _consolidate(counts, wanted, whole=whole, inner=inner)

    def _type_name(self, grouping: Grouping, domain: int) -> str:
        number = int(grouping.type_of[domain])
        return "" if number == NOWHERE else self._supply.types[number]

    def _units(self, placement: Placement, *, by_part: bool) -> set[int]:
        """The units that a placement on known nodes touches."""
        rows = [(self._supply.index[worker.node], worker.devices) for worker in placement]
        if not by_part:
            return {node for node, _ in rows}
        return {int(self._topology.part_of[node, device]) for node, devices in rows for device in devices}

    def workers_on(
        self, free: Free, shape: Shape, grouping: Grouping, units: IntArray, taken: IntArray
    ) -> Iterator[Worker]:
        """Each worker with its devices: `taken` of them on each unit."""
        chosen = np.flatnonzero(taken)
        units = units[chosen]
        nodes = self._nodes(units, by_part=grouping.by_part)
        rooms, links = free.devices[nodes], self._topology.links[nodes]
        if grouping.by_part:  # devices of the node's other link domains are out of bounds
            rooms = np.where(links == self._topology.part_link[units][:, None], rooms, 0)
        known: dict[tuple[int, ...], list[tuple[int, ...]]] = {}  # nodes that are alike give alike
        rows = zip(nodes.tolist(), rooms.tolist(), links.tolist(), taken[chosen].tolist(), strict=True)
        for node, room, link, num_workers in rows:
            key = (*room, *(each - link[0] for each in link), num_workers)
            if key not in known:
                known[key] = [take_devices(room, link, shape) for _ in range(num_workers)]
            for devices in known[key]:
                yield Worker(node=self._supply.names[node], devices=devices)


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


def _label(node: Node, label: str) -> str | None:
    return node.name if label == NODE_LEVEL else node.domains.get(label)


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
    is_full = (shares == totals)[number]  # nothing to choose inside
    taken[is_full] = counts[is_full]
    for domain in np.flatnonzero((shares > 0) & (shares < totals)):
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
