"""Where victims for one kind of claim are sought: in which domains, and on which of their units.

Claims of one kind (same queue, rank and kind of worker, same rights) share a scope: after each of them only
the units whose nodes changed are looked at again, so that a storm of claims does not look at all candidates
each time.
"""

from collections.abc import Iterable

import numpy as np

from scheduling.candidates import Claimant, Rows, prefixes, singles
from scheduling.supply import BoolArray, FloatArray, IntArray

NUM_DOMAINS_RANKED = 8  # so few are all looked at, in any order
UNITS_PER_WORKER = 4  # looked at first, the cheapest ones, and
MIN_UNITS = 16  # at least so many


class Scope:
    """The lawful candidates of a kind of claim (in the orders in which they are considered), seen from every
    unit: `most` workers that it may hold without them, and the least price of one.
    """

    def __init__(self, claimant: Claimant, *, lawful: BoolArray, orders: Iterable[Rows]) -> None:
        self.lawful = lawful  # by slot
        self._orders = [rows.only(np.flatnonzero(lawful[rows.slot])) for rows in orders]
        num_units = len(claimant.counts(claimant.later))
        self._first = np.searchsorted(self._orders[0].unit, np.arange(num_units + 1))
        self._most: IntArray = np.zeros(num_units, dtype=np.int64)
        self._price: FloatArray = np.full(num_units, np.inf)
        self._seen = len(claimant.later.changes)
        self._active = claimant.standing.holdings.active()
        self._look_at(claimant, np.arange(num_units))

    def catch_up(self, claimant: Claimant) -> None:
        """Look again at what changed since the last claim."""
        changes = claimant.later.changes
        self._active = claimant.standing.holdings.active()
        if self._seen < len(changes):
            nodes = np.concatenate(changes[self._seen :])
            self._seen = len(changes)
            by_part = claimant.domains.by_part
            self._look_at(claimant, claimant.standing.topology.units_on(nodes, by_part=by_part))

    def domains(self, claimant: Claimant, types: tuple[str, ...]) -> IntArray:
        """The domains on these types in which the gang might have room without the candidates, those first
        in which that looks like costing least.
        """
        grouping = claimant.domains
        allowed = claimant.standing.placer.allowed(grouping, types)
        possible = np.flatnonzero(allowed & (grouping.totals(self._most) >= claimant.request.num_workers))
        if len(possible) <= NUM_DOMAINS_RANKED:
            return possible
        return _cheapest_first(claimant, self._alive(self._orders[0]), possible)

    def rows_in(self, claimant: Claimant, domain: int) -> list[Rows]:
        """The candidates in a domain, in every order."""
        return self._rows_on(claimant.domains.units(domain))

    def rows_on_cheapest(self, claimant: Claimant, domain: int) -> list[Rows] | None:
        """The same on the units that look like costing least for a worker; nothing if that is all of them."""
        units = claimant.domains.units(domain)
        wanted = max(MIN_UNITS, UNITS_PER_WORKER * claimant.request.num_workers)
        if len(units) <= wanted:
            return None
        return self._rows_on(np.sort(units[np.argpartition(self._price[units], wanted)[:wanted]]))

    def _rows_on(self, units: IntArray) -> list[Rows]:
        counts = self._first[units + 1] - self._first[units]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        chosen = np.repeat(self._first[units], counts) + within
        return [self._alive(rows.only(chosen)) for rows in self._orders]

    def _alive(self, rows: Rows) -> Rows:
        return rows.only(np.flatnonzero(self._active[rows.slot]))

    def _look_at(self, claimant: Claimant, units: IntArray) -> None:
        free = claimant.later
        counts = claimant.counts(free)
        rows = self._rows_on(units)[0]
        found = prefixes(claimant, rows, free=free, counts=counts)
        last = np.flatnonzero(np.diff(rows.unit, append=-1))
        self._most[units] = counts[units]
        self._most[rows.unit[last]] += np.maximum(found.gained[last], 0)
        self._price[units] = np.inf
        alone = singles(claimant, rows, free=free, counts=counts)
        for offers in (found, alone):
            useful = np.flatnonzero(offers.gained > 0)
            price = offers.cost[useful] / offers.gained[useful]
            np.minimum.at(self._price, rows.unit[useful], price)


def _cheapest_first(claimant: Claimant, rows: Rows, domains: IntArray) -> IntArray:
    """By what the room needed looks like costing, each unit seen alone and at its best price."""
    grouping, free = claimant.domains, claimant.later
    counts = claimant.counts(free)
    found = prefixes(claimant, rows, free=free, counts=counts)
    need = np.maximum(claimant.request.num_workers - grouping.totals(counts), 0)
    wanted = np.zeros(grouping.num_domains + 1, dtype=np.bool_)  # the last is for units in no domain
    wanted[domains] = True
    useful = np.flatnonzero((found.gained > 0) & wanted[grouping.domain[rows.unit]])
    unit = rows.unit[useful]
    domain = grouping.domain[unit]
    gained = np.minimum(found.gained[useful], need[domain])
    price = found.cost[useful] / np.maximum(gained, 1)
    order = np.lexsort((price, unit))
    best = order[np.flatnonzero(np.diff(unit[order], prepend=-1))]
    estimate = _estimate(domain[best], price[best], gained[best], need)
    return domains[np.argsort(estimate[domains], kind="stable")]


def _estimate(domain: IntArray, price: FloatArray, gained: IntArray, need: IntArray) -> FloatArray:
    """What the workers needed would cost in each domain, bought at the cheapest units first."""
    order = np.lexsort((price, domain))
    domain, price, gained = domain[order], price[order], gained[order]
    before = np.cumsum(gained) - gained
    first = np.searchsorted(domain, domain)
    bought = np.clip(need[domain] - (before - before[first]), 0, gained)
    paid = np.bincount(domain, weights=price * bought, minlength=len(need))
    missing = need - np.bincount(domain, weights=bought, minlength=len(need))
    dearest = float(price.max()) if price.size else 1.0
    return np.asarray(paid + missing * (dearest + 1.0))
