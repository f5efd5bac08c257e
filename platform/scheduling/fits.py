"""How many workers of one shape fit where: counted once for an account of what is free, then kept in step.

Every change of the account names its nodes; only these are counted anew, and each domain's total changes by
the difference.
"""

from collections.abc import Callable

import numpy as np

from scheduling.supply import Free, IntArray
from scheduling.topology import Grouping, Topology

Counting = Callable[[Free, IntArray], IntArray]  # workers that each of these units holds
MOST_IN_STEP = 4  # when more than a quarter of the units changed, counting all of them is quicker


class Fit:
    """Counts by unit and totals by domain on one account."""

    __slots__ = ("_counts", "_free", "_groups", "_seen", "_topology", "_totals", "_workers", "by_part")

    def __init__(self, free: Free, topology: Topology, workers: Counting, *, by_part: bool) -> None:
        self.by_part = by_part
        self._free = free
        self._topology = topology
        self._workers = workers
        self._seen = len(free.changes)
        self._counts: IntArray = workers(free, np.arange(topology.num_units(by_part=by_part)))
        self._totals: dict[Grouping, IntArray] = {}
        self._groups: dict[tuple[Grouping, int], tuple[int, IntArray]] = {}

    def copied_for(self, free: Free) -> "Fit":
        """The same counts for a fresh copy of the account."""
        self._catch_up()
        fit = Fit.__new__(Fit)
        fit.by_part = self.by_part
        fit._free, fit._topology, fit._workers, fit._seen = free, self._topology, self._workers, 0
        fit._counts = self._counts.copy()
        fit._totals = {grouping: totals.copy() for grouping, totals in self._totals.items()}
        fit._groups = {}
        return fit

    def counts(self) -> IntArray:
        """Workers that each unit holds. Not to be changed."""
        self._catch_up()
        return self._counts

    def totals(self, grouping: Grouping, *, group_workers: int = 1) -> IntArray:
        """Workers that each domain holds, in whole groups of which each lies in one link domain. Not to be
        changed.
        """
        self._catch_up()
        if group_workers > 1:
            return self._in_groups(grouping, group_workers)
        if grouping not in self._totals:
            self._totals[grouping] = grouping.totals(self._counts)
        return self._totals[grouping]

    def _in_groups(self, grouping: Grouping, group_workers: int) -> IntArray:
        key = (grouping, group_workers)
        seen, totals = self._groups.get(key, (-1, self._counts))
        if seen != self._seen:
            totals = self._count_groups(grouping, group_workers)
            self._groups[key] = (self._seen, totals)
        return totals

    def _count_groups(self, grouping: Grouping, group_workers: int) -> IntArray:
        fine = self._topology.linked(grouping)
        whole = fine.totals(self._counts) // group_workers * group_workers
        inside = grouping.domain[fine.order[fine.first[:-1]]]
        return np.bincount(inside, weights=whole, minlength=grouping.num_domains).astype(np.int64)

    def _catch_up(self) -> None:
        changes = self._free.changes
        if self._seen == len(changes):
            return
        nodes = np.concatenate(changes[self._seen :])
        self._seen = len(changes)
        units = self._topology.units_on(nodes, by_part=self.by_part)
        if units.size * MOST_IN_STEP > self._counts.size:
            self._counts = self._workers(self._free, np.arange(self._counts.size))
            self._totals.clear()
        else:
            self._count_again(units)

    def _count_again(self, units: IntArray) -> None:
        counts = self._workers(self._free, units)
        difference = counts - self._counts[units]
        changed = np.flatnonzero(difference)
        if not changed.size:
            return
        units, difference = units[changed], difference[changed]
        self._counts[units] += difference
        for grouping, totals in self._totals.items():
            domains = grouping.domain[units]
            inside = domains >= 0
            np.add.at(totals, domains[inside], difference[inside])
