"""Where further workers join a gang that is placed: on its accelerator type, in its required domain, near it,
and so that each tensor group lies whole in one link domain.
"""

import numpy as np

from scheduling.amounts import Kind
from scheduling.model import Job, Placement
from scheduling.standing import Standing
from scheduling.supply import BoolArray, Free, IntArray
from scheduling.topology import NOWHERE, Grouping


class Joining:
    """Finds places beside gangs, while one plan is made."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._levels: dict[Grouping, list[IntArray]] = {}
        self._full: set[tuple[int, Kind, int]] = set()

    def has_room(self, job: Job, placement: Placement, free: Free) -> bool:
        """Whether any worker fits where one could join. Quick, as what is full stays so: to be asked while
        nothing is given back.
        """
        kind = self._standing.requests[job.id].kind
        grouping = self._standing.placer.required(kind)
        domain = self._domain(placement, grouping)
        key = (id(free), kind, domain)
        if domain == NOWHERE or key in self._full:
            return False
        fit = self._standing.placer.fit(free, kind, by_part=grouping.by_part)
        if fit.totals(grouping)[domain] > 0:
            return True
        self._full.add(key)
        return False

    def find(self, job: Job, placement: Placement, free: Free, *, at_most: int) -> Placement:
        """Up to so many workers that can join a gang placed like this, nearest first. A tensor group that
        lacks some is made whole, or nobody joins.
        """
        kind = self._standing.requests[job.id].kind
        grouping = self._standing.placer.required(kind)
        domain = self._domain(placement, grouping)
        if domain == NOWHERE:
            return ()
        units = grouping.units(domain)
        counts = self._standing.placer.fit(free, kind, by_part=grouping.by_part).counts()[units]
        fitting = np.flatnonzero(counts > 0)
        units, counts = units[fitting], counts[fitting]
        own = self._units(placement, grouping)
        order = self._nearest(grouping, units, counts, own=own)
        units, counts = units[order], counts[order]
        if kind.group_workers > 1:
            links = self._standing.topology.linked(grouping).domain
            held = links[own][links[own] != NOWHERE]
            taken = _in_groups(counts, links[units], held, size=kind.group_workers, at_most=at_most)
        else:
            taken = _first(counts, at_most)
        return tuple(self._standing.placer.workers_on(free, kind.shape, grouping, units, taken))

    def nodes_around(self, job: Job, placement: Placement) -> BoolArray:
        """The nodes of the required domain that a gang placed like this lies in."""
        standing = self._standing
        grouping = standing.placer.required(standing.requests[job.id].kind)
        inside = np.zeros(len(standing.supply.nodes), dtype=np.bool_)
        domain = self._domain(placement, grouping)
        if domain != NOWHERE:
            units = grouping.units(domain)
            inside[standing.topology.part_node[units] if grouping.by_part else units] = True
        return inside

    def whole_groups(self, job: Job, placement: Placement) -> Placement:
        """The workers that form whole tensor groups, each in one link domain, with groups side by side."""
        kind = self._standing.requests[job.id].kind
        if kind.group_workers == 1:
            return placement
        links = self._links(placement, self._standing.placer.required(kind)).tolist()
        lined: dict[int, list[int]] = {}
        for rank, link in enumerate(links):
            lined.setdefault(link, []).append(rank)
        whole = [ranks[: len(ranks) - len(ranks) % kind.group_workers] for ranks in lined.values()]
        return tuple(placement[rank] for ranks in whole for rank in ranks)

    def _domain(self, placement: Placement, grouping: Grouping) -> int:
        units = self._units(placement[:1], grouping)
        return int(grouping.domain[units[0]]) if units.size else NOWHERE

    def _units(self, placement: Placement, grouping: Grouping) -> IntArray:
        """The unit of each worker on a known node, with a device that this still has, in a link domain."""
        index, parts = self._standing.supply.index, self._standing.topology.part_of
        nodes = [(index[worker.node], worker.devices) for worker in placement if worker.node in index]
        if not grouping.by_part:
            return np.array([node for node, _ in nodes], dtype=np.int64)
        known = [(node, devices[0]) for node, devices in nodes if devices[0] < parts.shape[1]]
        units = [int(parts[node, device]) for node, device in known]
        return np.array([unit for unit in units if unit != NOWHERE], dtype=np.int64)

    def _links(self, placement: Placement, grouping: Grouping) -> IntArray:
        return self._standing.topology.linked(grouping).domain[self._units(placement, grouping)]

    def _nearest(self, grouping: Grouping, units: IntArray, counts: IntArray, *, own: IntArray) -> IntArray:
        """The gang's own units first, then by how many levels they share with its first one; of equal ones
        the fullest.
        """
        if grouping not in self._levels:
            self._levels[grouping] = self._standing.topology.ids_inside(grouping)
        near = np.zeros(len(units), dtype=np.int64)
        for ids in self._levels[grouping]:
            near += ids[units] == ids[own[0]]
        is_own = np.zeros(len(grouping.domain), dtype=np.bool_)
        is_own[own] = True
        return np.lexsort((units, counts, -near, ~is_own[units]))


def _in_groups(counts: IntArray, links: IntArray, held: IntArray, *, size: int, at_most: int) -> IntArray:
    """Workers for each unit (in link domain `links`) of a gang with workers in these link domains (`held`):
    first those that make its groups whole, or none; then further groups.
    """
    lacking = {int(link): int(-num % size) for link, num in enumerate(np.bincount(held)) if num % size}
    taken = np.zeros_like(counts)
    for link, wanted in lacking.items():
        inside = np.flatnonzero(links == link)
        taken[inside] = _first(counts[inside], wanted)
    if int(taken.sum()) < sum(lacking.values()) or int(taken.sum()) > at_most:
        return np.zeros_like(counts)
    for link in dict.fromkeys(links[links != NOWHERE].tolist()):
        inside = np.flatnonzero(links == link)
        room = counts[inside] - taken[inside]
        wanted = min(at_most - int(taken.sum()), int(room.sum())) // size * size
        taken[inside] += _first(room, wanted)
    return taken


def _first(counts: IntArray, wanted: int) -> IntArray:
    """So many workers from the first units on."""
    before = np.cumsum(counts) - counts
    return np.asarray(np.clip(wanted - before, 0, counts))
