"""Who may be evicted for a job that cannot start, and where the search for victims looks.

Rights. Preempt: the same queue, strictly lower priority, not shorter running than the policy's minimum.
Reclaim: another queue, by `QueueTree.reclaimable`, whatever the priorities. Preemptible jobs only. Choice:
per accelerator type in the job's order, over several domains, the victims with the least lost work.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scheduling.amounts import Kind, Request
from scheduling.candidates import Claimant, Rows, rows_of
from scheduling.model import Job, JobId
from scheduling.ordering import NUM_LEVELS
from scheduling.placement import Place, type_choices
from scheduling.scope import Scope
from scheduling.standing import Standing
from scheduling.supply import BoolArray, Free
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


Reclaim = dict[int, tuple[int, ...]]
Choices = tuple[tuple[str, ...], ...]
Scoped = tuple[int, int, int, tuple[int, ...], Kind]


class Claims:
    """Finds claims while one plan is made. Rows are sorted once, until a holding is added; claims of one kind
    share a scope.
    """

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._sorted: dict[bool, tuple[int, tuple[Rows, Rows]]] = {}
        self._scopes: dict[Scoped, tuple[int, Free, Scope]] = {}

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
        """The victims whose leaving lets the job start, limits and placement both, if there are any.
        `request` and `inside`: for what it needs to go on, on these nodes.
        """
        request = request or self._standing.requests[job.id]
        for reclaim, choices in self._ways(job, request):
            claimant = Claimant(self._standing, job, reclaim=reclaim, request=request, inside=inside)
            claim = self._claim_by(claimant, job, choices=choices)
            if claim is not None:
                return self._within_budget(claim)
        return None

    def _ways(self, job: Job, request: Request) -> Iterator[tuple[Reclaim, Choices]]:
        """The queues to reclaim from, and the choices of types on which the job may; then, where it may not
        on all types, what it may preempt in its own queue on any.
        """
        standing, queue, wanted = self._standing, self._standing.queue_of(job), job.total_milli
        every = type_choices(request.kind)
        every = every if standing.policy.takes_later_type else every[:1]
        reclaim = standing.tree.reclaimable(queue, wanted)
        entitled = _entitled(standing, queue, wanted, every) if reclaim else ()
        if entitled:
            yield reclaim, entitled
        if entitled != every and _outranks(standing, job, queue):
            yield {}, every

    def _claim_by(self, claimant: Claimant, job: Job, *, choices: Choices) -> Claim | None:
        standing, inside = self._standing, claimant.inside_of
        scope = self._scope(claimant, job) if inside is None else self._new_scope(claimant, job)
        slots = scope.lawful & standing.holdings.active()
        if not _limits_can_be_met(claimant, slots):
            return None
        for types in choices:
            best = min(_selections(claimant, slots, scope, types), key=Selection.rank, default=None)
            claim = None if best is None else _claim(claimant, best)
            if best is None or claim is None:
                continue
            gone = [standing.holdings.slots[slot] for slot in best.chosen]
            if standing.may_claim(job, claim.place.placement, gone):
                return claim
        return None

    def _within_budget(self, claim: Claim | None) -> Claim | None:
        """Nothing, if the claim takes more evictions than the policy allows in one plan."""
        standing, most = self._standing, self._standing.policy.max_evictions
        if claim is None or most is None or not standing.evictions:  # the first may take what it needs
            return claim
        running = sum(victim.id not in standing.starts for victim in claim.victims)
        return claim if len(standing.evictions) + running <= most else None

    def _scope(self, claimant: Claimant, job: Job) -> Scope:
        """The scope for claims of this kind, in step with what happened since the last one."""
        standing, rank = self._standing, self._standing.ranking.rank_of(job)
        key = (claimant.queue, rank, job.priority, tuple(claimant.reclaim), claimant.request.kind)
        num_slots = len(standing.holdings.slots)
        known = self._scopes.get(key)
        if known is not None and known[0] == num_slots and known[1] is claimant.later:
            known[2].catch_up(claimant)
            return known[2]
        scope = self._new_scope(claimant, job)
        self._scopes[key] = (num_slots, claimant.later, scope)
        return scope

    def _new_scope(self, claimant: Claimant, job: Job) -> Scope:
        lawful = _lawful(self._standing, job, claimant.reclaim)
        return Scope(claimant, lawful=lawful, orders=self._rows(by_part=claimant.domains.by_part))

    def _rows(self, *, by_part: bool) -> tuple[Rows, Rows]:
        columns = self._standing.holdings.columns()
        num_slots, rows = self._sorted.get(by_part, (-1, None))
        if rows is None or num_slots != len(columns.queue):
            rows = _in_both_orders(self._standing, rows_of(self._standing, columns, by_part=by_part))
            self._sorted[by_part] = (len(columns.queue), rows)
        return rows


def carry_out(standing: Standing, claim: Claim, *, beneficiary: Job) -> None:
    """Tells everybody whom the claim names to leave."""
    standing.evict_all(
        [victim for victim in claim.victims if victim.id not in standing.starts], beneficiary=beneficiary
    )
    for victim in claim.victims:
        if victim.id in standing.starts:
            standing.take_back(victim)
    for name, pieces in claim.pieces.items():
        standing.shrink(standing.jobs[name], pieces, beneficiary=beneficiary)


def _lawful(standing: Standing, job: Job, reclaim: dict[int, tuple[int, ...]]) -> BoolArray:
    """The slots that may be evicted for the job."""
    columns, holdings = standing.holdings.columns(), standing.holdings
    lower = holdings.ranks() < standing.ranking.rank_of(job)
    if standing.policy.shares_surplus:
        lower |= columns.is_surplus & (columns.priority <= job.priority)
    ran_long = standing.now_ms - columns.placed_at_ms >= standing.policy.min_runtime_ms
    preempt = (columns.queue == standing.queue_of(job)) & lower & (ran_long | columns.is_new)
    preempt &= standing.policy.preempts
    from_queue = np.zeros(len(standing.tree.queues), dtype=np.bool_)
    from_queue[list(reclaim)] = True
    slots: BoolArray = holdings.active() & columns.evictable & (preempt | from_queue[columns.queue])
    if job.placement:
        slots[list(holdings.slots_with(holdings.slot_of(job.id)))] = False
    return slots


def _entitled(standing: Standing, queue: int, wanted: int, choices: Choices) -> Choices:
    """The choices less the types of which the queue would get more than it is guaranteed."""
    left = (
        tuple(
            name
            for name in types or standing.supply.types
            if standing.tree.may_reclaim_on(queue, wanted, name)
        )
        for types in choices
    )
    kept = tuple(types for types in left if types)
    return choices if kept == tuple(types or standing.supply.types for types in choices) else kept


def _outranks(standing: Standing, job: Job, queue: int) -> bool:
    """Whether anybody in its queue may be evicted, or surplus be taken, by rank."""
    if not standing.policy.preempts:
        return False
    if standing.policy.shares_surplus:
        return bool(job.priority >= standing.holdings.lowest_rank(queue) // NUM_LEVELS)
    return standing.ranking.rank_of(job) > standing.holdings.lowest_rank(queue)


def _limits_can_be_met(claimant: Claimant, slots: BoolArray) -> bool:
    """Whether the limits would allow the job if all candidates were gone."""
    if not claimant.over_limits:
        return bool(slots.any())
    columns = claimant.standing.holdings.columns()
    num_queues = len(claimant.standing.tree.queues)
    gone = np.bincount(columns.queue[slots], weights=columns.amount[slots], minlength=num_queues)
    return all(gone[claimant.inside(queue)].sum() >= excess for queue, excess in claimant.over_limits)


def _in_both_orders(standing: Standing, rows: Rows) -> tuple[Rows, Rows]:
    """The candidates of each unit by cost for each device there; and the largest first, which needs fewer of
    them and finds the one big victim where many small ones would use up what may be reclaimed.
    """
    cost = standing.holdings.costs()[rows.slot]
    columns = standing.holdings.columns()
    name = (columns.name_next[rows.slot], columns.name_first[rows.slot])
    by_cost = np.lexsort((rows.slot, *name, -rows.devices, cost / np.maximum(rows.devices, 1), rows.unit))
    by_size = np.lexsort((rows.slot, *name, cost, -rows.devices, rows.unit))
    return rows.only(by_cost), rows.only(by_size)


def _selections(
    claimant: Claimant, slots: BoolArray, scope: Scope, types: tuple[str, ...]
) -> Iterator[Selection]:
    """A selection for each domain tried, and for each order of its candidates in which one was found."""
    num_compared = 0
    for domain in scope.domains(claimant, types)[:NUM_DOMAINS_TRIED].tolist():
        cheapest = scope.rows_on_cheapest(claimant, domain)
        found = _selections_in(claimant, slots, cheapest, domain) if cheapest is not None else []
        found = found or _selections_in(claimant, slots, scope.rows_in(claimant, domain), domain)
        yield from found
        num_compared += bool(found)
        if num_compared == NUM_DOMAINS_COMPARED:
            return


def _selections_in(claimant: Claimant, slots: BoolArray, orders: list[Rows], domain: int) -> list[Selection]:
    """A selection for each order in which one is found; if none is, one by another preference, if there is
    any.
    """
    columns = claimant.standing.holdings.columns()
    found: list[Selection] = []
    for rows in _that_differ(orders):
        selection = choose(claimant, columns, slots, rows=rows, domain=domain)
        if selection is not None:
            found.append(selection)
            if len(selection.chosen) == 1:  # no order finds fewer
                return found
    if not found:
        selection = choose(claimant, columns, slots, rows=orders[-1], domain=domain, most_first=True)
        found = [selection] if selection is not None else []
    return found


def _that_differ(orders: list[Rows]) -> list[Rows]:
    """The orders, without one that is the first again: candidates of equal size are also sorted by cost."""
    first, *others = orders
    return [first, *(rows for rows in others if not np.array_equal(rows.slot, first.slot))]


def _claim(claimant: Claimant, selection: Selection) -> Claim | None:
    place = claimant.standing.placer.place(selection.view, claimant.request)
    return None if place is None else Claim(tuple(selection.jobs().values()), selection.pieces(), place)
