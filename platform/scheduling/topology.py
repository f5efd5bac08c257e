"""The domains of the cluster: which nodes, or parts of nodes, lie together at which level. Static for a
snapshot.

A *unit* is what workers are counted on: a node, or, where a level asks for link domains and these split
nodes, one node's devices in one link domain (a *part*).
"""

from dataclasses import dataclass

import numpy as np

from scheduling.model import LINK_LEVEL, NODE_LEVEL, Node
from scheduling.supply import BoolArray, IntArray, Supply

NOWHERE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Units grouped into domains. With types kept apart, a domain is of one accelerator type."""

    domain: IntArray  # of each unit, or NOWHERE
    num_domains: int
    size: IntArray  # devices in each domain
    type_of: IntArray  # of each domain, or NOWHERE where types are not kept apart
    by_part: bool
    levels: frozenset[str]
    order: IntArray  # the units of each domain side by side, in unit order
    first: IntArray  # where each domain begins in `order`; one more for the end

    def totals(self, amounts: IntArray) -> IntArray:
        """Sums of a number per unit over each domain."""
        if not self.num_domains:
            return np.zeros(0, dtype=np.int64)
        return np.add.reduceat(amounts[self.order], self.first[:-1])  # no domain is empty

    def units(self, domain: int) -> IntArray:
        """The units of a domain."""
        return self.order[self.first[domain] : self.first[domain + 1]]

    def same_as(self, other: "Grouping") -> bool:
        """Whether both put the same units together."""
        return self.by_part == other.by_part and bool(np.array_equal(self.domain, other.domain))


class Topology:
    """Finds the domains of any set of levels, and the order in which levels are tried: narrowest first."""

    def __init__(self, supply: Supply) -> None:
        self._supply = supply
        self.links, self.link_names = _links(supply)
        self.part_of, self.part_node, self.part_link = _parts(self.links)
        sizes = np.bincount(self.part_of[self.part_of >= 0], minlength=len(self.part_node))
        self.first_part = np.searchsorted(self.part_node, np.arange(len(supply.nodes) + 1))
        self.splits_nodes = bool((sizes != supply.num_devices[self.part_node]).any())
        self._ids: dict[str, IntArray] = {}
        self._sizes: dict[str, int] = {}
        self._groupings: dict[tuple[frozenset[str], bool, bool], Grouping] = {}
        self._ladders: dict[tuple[tuple[str, ...], tuple[str, ...], bool, bool], tuple[Grouping, ...]] = {}
        self.ladder = self._narrowest_first((*supply.levels, NODE_LEVEL, LINK_LEVEL))

    def grouping(self, levels: frozenset[str], *, typed: bool, grouped: bool = False) -> Grouping:
        """Domains that lie inside one domain of every given level; no level: the whole cluster.

        `grouped`: for gangs whose tensor groups are counted on link domains, so on parts where these split
        nodes.
        """
        by_part = self.splits_nodes and (grouped or LINK_LEVEL in levels)
        key = (levels, typed, by_part)
        if key not in self._groupings:
            self._groupings[key] = self._group(levels, typed=typed, by_part=by_part)
        return self._groupings[key]

    def rungs(
        self, required: tuple[str, ...], wished: tuple[str, ...], *, typed: bool, grouped: bool = False
    ) -> tuple[Grouping, ...]:
        """The groupings to try in turn: each wished level inside the required ones, then these alone."""
        key = (required, wished, typed, grouped)
        if key not in self._ladders:
            bound = frozenset(required)
            steps = [*({level} for level in self._narrowest_first(wished)), set[str]()]
            found = [self.grouping(bound | step, typed=typed, grouped=grouped) for step in steps]
            self._ladders[key] = _without_repeats(found)
        return self._ladders[key]

    def narrowest(self, levels: tuple[str, ...]) -> str:
        """The level that restricts most (one that no node has a label of, if any); "" if there is none."""
        return min(
            levels, key=lambda level: (self._num_domains(level) > 0, -self._num_domains(level)), default=""
        )

    def linked(self, grouping: Grouping) -> Grouping:
        """The link domains inside the domains of a grouping."""
        typed = bool((grouping.type_of != NOWHERE).any())
        return self.grouping(grouping.levels | {LINK_LEVEL}, typed=typed, grouped=grouping.by_part)

    def num_units(self, *, by_part: bool) -> int:
        """Nodes, or parts of nodes."""
        return len(self.part_node) if by_part else len(self._supply.nodes)

    def units_on(self, nodes: IntArray, *, by_part: bool) -> IntArray:
        """The units on these nodes, each once."""
        once = _each_once(nodes)
        if not by_part:
            return once
        counts = self.first_part[once + 1] - self.first_part[once]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.asarray(np.repeat(self.first_part[once], counts) + within)

    def link_of(self, units: IntArray, *, by_part: bool) -> IntArray:
        """The link domain of each unit, or NOWHERE."""
        return self.part_link[units] if by_part else self._node_ids(LINK_LEVEL)[units]

    def ids_inside(self, grouping: Grouping) -> list[IntArray]:
        """For each of the supply's levels from the widest, the domain of each unit of the grouping."""
        node_of_unit = self.part_node if grouping.by_part else np.arange(len(self._supply.nodes))
        levels = [level for level in self._supply.levels if level not in (NODE_LEVEL, LINK_LEVEL)]
        return [self._node_ids(level)[node_of_unit] for level in levels]

    def _group(self, levels: frozenset[str], *, typed: bool, by_part: bool) -> Grouping:
        node_of_unit = self.part_node if by_part else np.arange(len(self._supply.nodes))
        columns = [self._unit_ids(level, by_part=by_part) for level in sorted(levels)]
        kinds = self._supply.type_of[node_of_unit] if typed else np.full(len(node_of_unit), NOWHERE)
        inside = np.all([column >= 0 for column in columns], axis=0) if columns else np.ones(len(kinds), bool)
        domain, num_domains, first = _number(np.array([kinds, *columns], dtype=np.int64), inside)
        devices = self._unit_devices(by_part=by_part)
        size = np.bincount(domain[inside], weights=devices[inside], minlength=num_domains)
        order = np.flatnonzero(inside)[np.argsort(domain[inside], kind="stable")]
        starts = np.searchsorted(domain[order], np.arange(num_domains + 1))
        return Grouping(
            domain, num_domains, size.astype(np.int64), kinds[first], by_part, levels, order, starts
        )

    def _unit_ids(self, level: str, *, by_part: bool) -> IntArray:
        if not by_part:
            return self._node_ids(level)
        return self.part_link if level == LINK_LEVEL else self._node_ids(level)[self.part_node]

    def _unit_devices(self, *, by_part: bool) -> IntArray:
        if not by_part:
            return self._supply.num_devices
        return np.bincount(self.part_of[self.part_of >= 0], minlength=len(self.part_node)).astype(np.int64)

    def _node_ids(self, level: str) -> IntArray:
        if level not in self._ids:
            self._ids[level] = self._count_domains(level)
        return self._ids[level]

    def _count_domains(self, level: str) -> IntArray:
        if level == NODE_LEVEL:
            return np.arange(len(self._supply.nodes))
        if level == LINK_LEVEL:  # only asked for where no node is split: all its devices are in one, or none
            ids = np.full(len(self._supply.nodes), NOWHERE)
            ids[self.part_node] = self.part_link
            return ids
        wider = _wider_levels(self._supply.levels, level)
        paths = [_path(node, wider, level) for node in self._supply.nodes]
        names = {path: position for position, path in enumerate(sorted({path for path in paths if path}))}
        return np.array([names.get(path, NOWHERE) for path in paths], dtype=np.int64)

    def _narrowest_first(self, levels: tuple[str, ...]) -> tuple[str, ...]:
        """By falling number of domains; among equals the one named first is the wider one."""
        widest_first = [level for level in dict.fromkeys(levels) if self._num_domains(level)]
        widest_first.sort(key=self._num_domains)
        return tuple(reversed(widest_first))

    def _num_domains(self, level: str) -> int:
        if level == LINK_LEVEL:
            return len(self.link_names)
        if level not in self._sizes:
            ids = self._node_ids(level)
            self._sizes[level] = len(np.unique(ids[ids >= 0]))
        return self._sizes[level]


def _wider_levels(levels: tuple[str, ...], level: str) -> tuple[str, ...]:
    """Equal names in different wider domains are different domains; a label outside the tree stands alone."""
    return levels[: levels.index(level)] if level in levels else ()


def _path(node: Node, wider: tuple[str, ...], level: str) -> tuple[str, ...]:
    """The names down to this node's domain, or nothing if it has no such label."""
    if level not in node.domains:
        return ()
    return (*(node.domains.get(name, "") for name in wider), node.domains[level])


def _links(supply: Supply) -> tuple[IntArray, tuple[str, ...]]:
    """The link domain of each device, [node, index], by position among the sorted names."""
    names = tuple(sorted({link for node in supply.nodes for link in node.links[: node.num_devices] if link}))
    position = {name: number for number, name in enumerate(names)}
    links = np.full((len(supply.nodes), supply.width), NOWHERE, dtype=np.int64)
    for row, node in enumerate(supply.nodes):
        numbers = [position.get(link, NOWHERE) for link in node.links[: node.num_devices]]
        links[row, : len(numbers)] = numbers
    return links, names


def _parts(links: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Numbers the parts in node order: the part of each device, and the node and link domain of each part."""
    nodes, devices = np.nonzero(links >= 0)
    pairs = np.stack([nodes, links[nodes, devices]], axis=1).reshape(-1, 2)
    unique, inverse = np.unique(pairs, axis=0, return_inverse=True)
    part_of = np.full(links.shape, NOWHERE, dtype=np.int64)
    part_of[nodes, devices] = inverse.reshape(-1)
    return part_of, unique[:, 0], unique[:, 1]


def _number(columns: IntArray, inside: BoolArray) -> tuple[IntArray, int, IntArray]:
    """Numbers equal columns alike: a domain per unit, how many there are, and one unit of each."""
    domain = np.full(columns.shape[1], NOWHERE, dtype=np.int64)
    unique, first, inverse = np.unique(columns[:, inside], axis=1, return_index=True, return_inverse=True)
    domain[inside] = inverse.reshape(-1)
    return domain, unique.shape[1], np.flatnonzero(inside)[first]


def _each_once(numbers: IntArray) -> IntArray:
    """Sorted, without repeats (np.unique takes ten times as long for a few)."""
    if numbers.size < 2:
        return numbers
    rising = np.sort(numbers)
    return np.asarray(rising[np.append(True, rising[1:] != rising[:-1])])


def _without_repeats(groupings: list[Grouping]) -> tuple[Grouping, ...]:
    kept: list[Grouping] = []
    for grouping in groupings:
        if not any(grouping.same_as(earlier) for earlier in kept):
            kept.append(grouping)
    return tuple(kept)
