"""Who may be evicted for a job that cannot start, and where the search for victims looks.

Rights. Preempt: the same queue, strictly lower priority, not shorter running than the policy's minimum.
Reclaim: another queue, by `QueueTree.reclaimable`, whatever the priorities. Preemptible jobs only. Choice:
per accelerator type in the job's order, over several domains, the victims with the least lost work.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scheduling.amounts import Request
from scheduling.candidates import Claimant, Rows, counts_without, prefixes, rows_of
from scheduling.holdings import Columns
from scheduling.model import Job, JobId
from scheduling.ordering import NUM_LEVELS
from scheduling.placement import Place, type_choices
from scheduling.standing import Standing
from scheduling.supply import BoolArray, FloatArray, IntArray
from scheduling.victims import Selection, choose

NUM_DOMAINS_COMPARED = 8  # of those in which victims are found, the cheapest-looking first
NUM_DOMAINS_TRIED = 64


@dataclass(frozen=True, slots=True)
class Claim:
    """The job can start at this place once these are gone: running victims, or starts of this same plan; and
    pieces (by slot) of elastic jobs that go on.
    """

    victims: tuple[Job, ...]
    pieces: dict[JobId, list[int]]
    place: Place


@dataclass(frozen=True, slots=True)
class Rights:
    """The slots that may be evicted; for each queue to reclaim from, those to stay above guarantee."""

    slots: BoolArray
    reclaim: dict[int, tuple[int, ...]]


class Claims:
    """Finds claims while one plan is made. Rows are sorted once, until a holding is added."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._sorted: dict[bool, tuple[int, tuple[Rows, Rows]]] = {}

    def may_take(self, job: Job) -> bool:
        """Whether the job has any right to take devices from anybody: quick, and never wrong with no."""
        standing = self._standing
        queue, wanted = standing.queue_of(job), job.total_milli
        if wanted and standing.tree.within_guarantee(queue, wanted):
            return True
        return _outranks(standing, job, queue)

    def find(
        self, job: Job, *, request: Request | None = None, inside: BoolArray | None = None
    ) -> Claim | None:
        """The victims whose leaving lets the job start, limits and placement both, if there are any. `request`
        and `inside`: for what it needs to go on, on these nodes.
        """
        rights = _rights(self._standing, job)
        if rights is None:
            return None
        request = request or self._standing.requests[job.id]
        claimant = Claimant(self._standing, job, reclaim=rights.reclaim, request=request, inside=inside)
        if not _limits_can_be_met(claimant, rights.slots):
            return None
        orders = [rows.only(rights.slots[rows.slot]) for rows in self._rows(by_part=claimant.domains.by_part)]
        for types in type_choices(claimant.request.kind):
            best = min(_selections(claimant, rights.slots, orders, types), key=Selection.rank, default=None)
            if best is not None:
                return _claim(claimant, best)
        return None

    def _rows(self, *, by_part: bool) -> tuple[Rows, Rows]:
        columns = self._standing.holdings.columns()
        num_slots, rows = self._sorted.get(by_part, (-1, None))
        if rows is None or num_slots != len(columns.queue):
            rows = _in_both_orders(self._standing, rows_of(self._standing, columns, by_part=by_part))
            self._sorted[by_part] = (len(columns.queue), rows)
        return rows


def carry_out(standing: Standing, claim: Claim, *, beneficiary: Job) -> None:
    """Tells everybody whom the claim names to leave."""
    for victim in claim.victims:
        if victim.id in standing.starts:
            standing.take_back(victim)
        else:
            standing.evict(victim, beneficiary=beneficiary)
    for name, pieces in claim.pieces.items():
        standing.shrink(standing.jobs[name], pieces, beneficiary=beneficiary)


def _rights(standing: Standing, job: Job) -> Rights | None:
    queue = standing.queue_of(job)
    reclaim = standing.tree.reclaimable(queue, job.total_milli)
    if not reclaim and not _outranks(standing, job, queue):
        return None
    columns, holdings = standing.holdings.columns(), standing.holdings
    lower = holdings.ranks() < standing.ranking.rank_of(job)
    if standing.policy.shares_surplus:
        lower |= columns.is_surplus & (columns.priority <= job.priority)
    ran_long = standing.now_ms - columns.placed_at_ms >= standing.policy.min_runtime_ms
    preempt = (columns.queue == queue) & lower & (ran_long | columns.is_new)
    from_queue = np.zeros(len(standing.tree.queues), dtype=np.bool_)
    from_queue[list(reclaim)] = True
    allowed = preempt | from_queue[columns.queue]
    slots = holdings.active() & columns.evictable & allowed
    if job.placement:
        slots[list(holdings.slots_with(holdings.slot_of(job.id)))] = False
    return Rights(slots, reclaim) if slots.any() else None


def _outranks(standing: Standing, job: Job, queue: int) -> bool:
    """Whether anybody in its queue may be evicted, or surplus be taken, by rank."""
    if standing.policy.shares_surplus:
        return bool(job.priority >= standing.holdings.lowest_rank(queue) // NUM_LEVELS)
    return standing.ranking.rank_of(job) > standing.holdings.lowest_rank(queue)


def _limits_can_be_met(claimant: Claimant, slots: BoolArray) -> bool:
    """Whether the limits would allow the job if all candidates were gone."""
    columns = claimant.standing.holdings.columns()
    num_queues = len(claimant.standing.tree.queues)
    gone = np.bincount(columns.queue[slots], weights=columns.amount[slots], minlength=num_queues)
    return all(gone[claimant.inside(queue)].sum() >= excess for queue, excess in claimant.over_limits)


def _in_both_orders(standing: Standing, rows: Rows) -> tuple[Rows, Rows]:
    """The candidates of each unit by cost for each device there; and the largest first, which needs fewer of
    them and finds the one big victim where many small ones would use up what may be reclaimed.
    """
    cost = standing.holdings.costs()[rows.slot]
    by_cost = np.lexsort((rows.slot, -rows.devices, cost / np.maximum(rows.devices, 1), rows.unit))
    by_size = np.lexsort((rows.slot, cost, -rows.devices, rows.unit))
    return rows.only(by_cost), rows.only(by_size)


def _selections(
    claimant: Claimant, slots: BoolArray, orders: list[Rows], types: tuple[str, ...]
) -> Iterator[Selection]:
    """A selection for each domain tried, and for each order of its candidates in which one was found."""
    columns, grouping = claimant.standing.holdings.columns(), claimant.domains
    counts = counts_without(claimant, columns, orders[0], free=claimant.later)
    allowed = claimant.standing.placer.allowed(grouping, types)
    possible = np.flatnonzero(allowed & (grouping.totals(counts) >= claimant.request.num_workers))
    num_compared = 0
    for domain in _cheapest_first(claimant, columns, orders[0], possible)[:NUM_DOMAINS_TRIED]:
        found = list(_selections_in(claimant, slots, orders, domain))
        yield from found
        num_compared += bool(found)
        if num_compared == NUM_DOMAINS_COMPARED:
            return


def _selections_in(
    claimant: Claimant, slots: BoolArray, orders: list[Rows], domain: int
) -> Iterator[Selection]:
    """A selection for each order in which one is found; if none is, one by another preference, if there is
    any.
    """
    columns, grouping = claimant.standing.holdings.columns(), claimant.domains
    inside = [ordered.only(grouping.domain[ordered.unit] == domain) for ordered in orders]
    num_found = 0
    for rows in inside:
        found = choose(claimant, columns, slots, rows=rows, domain=domain)
        if found is not None:
            yield found
            num_found += 1
            if len(found.chosen) == 1:  # no order finds fewer
                return
    if not num_found:
        found = choose(claimant, columns, slots, rows=inside[-1], domain=domain, most_first=True)
        yield from [found] if found is not None else []


def _cheapest_first(claimant: Claimant, columns: Columns, rows: Rows, domains: IntArray) -> IntArray:
    """The domains by what the room needed looks like costing, each unit seen alone and at its best price."""
    if len(domains) <= NUM_DOMAINS_COMPARED:
        return domains
    grouping, free = claimant.domains, claimant.later
    counts = claimant.counts(free)
    need = np.maximum(claimant.request.num_workers - grouping.totals(counts), 0)
    found = prefixes(claimant, columns, rows, free=free, counts=counts)
    useful = np.flatnonzero((found.gained > 0) & np.isin(grouping.domain[rows.unit], domains))
    domain = grouping.domain[rows.unit[useful]]
    gained = np.minimum(found.gained[useful], need[domain])
    price = found.cost[useful] / np.maximum(gained, 1)
    order = np.lexsort((price, rows.unit[useful]))
    best = order[np.unique(rows.unit[useful][order], return_index=True)[1]]
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


def _claim(claimant: Claimant, selection: Selection) -> Claim | None:
    place = claimant.standing.placer.place(selection.view, claimant.request)
    return None if place is None else Claim(tuple(selection.jobs().values()), selection.pieces(), place)
