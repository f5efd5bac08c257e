"""Chooses victims inside one domain: greedily by lost work, then spares whoever is not needed.

Greedy: in each round each candidate is seen as leaving alone, and those of each unit one after another in a
fixed order; what has the least cost / workers gained leaves. Then each victim is put back if the job can
start all the same, dearest first. Fewer victims never free more, so in the end none could stay: the choice
is minimal by construction.

A piece of an elastic job's surplus is a victim of its own, and costs next to nothing. Where a whole job
leaves, its surplus leaves with it.
"""

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from scheduling.candidates import Claimant, Offers, Rows, prefixes, singles
from scheduling.columns import Columns
from scheduling.holdings import give_back
from scheduling.model import Job, JobId
from scheduling.sparing import Sparing, counts_exactly
from scheduling.supply import BoolArray, IntArray

NUM_SINGLY = 4  # so few are looked at one by one

Rank = tuple[int, int, tuple[str, ...]]


class Selection:
    """Victims chosen so far, and how things would stand without them."""

    def __init__(self, claimant: Claimant, columns: Columns) -> None:
        num_queues = len(claimant.standing.tree.queues)
        self.view = claimant.later.copy()
        self.chosen: set[int] = set()
        self._claimant = claimant
        self._columns = columns
        self._costs = claimant.standing.holdings.costs()
        self._gone = [0] * num_queues  # of each queue, all below it included
        self._gone_of_type: dict[tuple[int, int], int] = defaultdict(int)
        self._wholes, self._pieces = _Loss(num_queues), _Loss(num_queues)

    def may_add(self, slot: int) -> bool:
        """Reclaim only while every queue on the victim's side is above its guarantee.

        Most victims are allowed if the largest goes last, so all others have to leave the queue above it:
        usage - (sum of victims - largest victim) > guarantee. Surplus goes before whole jobs: one of these
        may only go if the queue were above its guarantee without any surplus.
        """
        amount, is_surplus = int(self._columns.amount[slot]), bool(self._columns.is_surplus[slot])
        path = self._claimant.reclaim.get(int(self._columns.queue[slot]), ())
        tree, loss = self._claimant.standing.tree, self._pieces if is_surplus else self._wholes
        before = self._claimant.surplus() if path and not is_surplus else loss.nothing
        if any(self._guards(slot, queue) for queue in path):
            return False
        return all(tree.above_guarantee(q, before[q] + loss.before_last(q, amount)) for q in path)

    def _guards(self, slot: int, queue: int) -> bool:
        """Whether the queue is down to what it is guaranteed of the accelerator type that the slot holds."""
        held = self._claimant.standing.holdings.slots[slot].accelerator_type
        return self._claimant.standing.tree.guards_type(queue, held, self._gone_of_type[queue, held])

    def add(self, slot: int) -> list[int]:
        """One more victim, and what leaves with it. Returns those that were not chosen before."""
        added = self.note(slot)
        self.release(added)
        return added

    def note(self, slot: int) -> list[int]:
        """The same, but what it holds is not released yet."""
        leaving = self._claimant.standing.holdings.slots_with(slot)
        added = [each for each in leaving if each not in self.chosen]
        for each in added:
            self.chosen.add(each)
            self._count(each, gives=1)
            self._note_size(each)
        return added

    def release(self, slots: list[int]) -> None:
        """What these slots hold becomes free."""
        if len(slots) > NUM_SINGLY:
            chosen = np.zeros(len(self._columns.queue), dtype=np.bool_)
            chosen[slots] = True
            give_back(self.view, self._columns, chosen)
            return
        for slot in slots:
            self._give(slot, times=1)

    def drop(self, slot: int) -> None:
        """This one may stay."""
        self.chosen.remove(slot)
        self._count(slot, gives=-1)
        self._give(slot, times=-1)

    def undo(self, slots: list[int]) -> None:
        """These were not chosen after all."""
        for slot in slots:
            self.drop(slot)
        self._wholes.forget_sizes()
        self._pieces.forget_sizes()
        for slot in self.chosen:
            self._note_size(slot)

    def missing_limit(self) -> int | None:
        """The nearest queue whose limit is still in the way."""
        over = self._claimant.over_limits
        return next((queue for queue, excess in over if self._gone[queue] < excess), None)

    def suffices(self) -> bool:
        """Whether the job could start without the chosen ones, anywhere: limits and placement."""
        if self.missing_limit() is not None:
            return False
        request = self._claimant.request
        return self._claimant.standing.placer.most_workers(self.view, request.kind) >= request.num_workers

    def spare_the_needless(self, sparing: Sparing | None) -> None:
        """Puts back whoever can stay: whole jobs, dearest first, then surplus. `sparing` knows in advance who
        cannot.
        """
        if sparing is not None:
            sparing.look_at(self.view)
        for slot in sorted(self.chosen, key=self._dearest_first):
            if self._columns.is_surplus[slot] and self._whole_of(slot) in self.chosen:
                continue
            if sparing is not None and sparing.is_needed(slot):
                continue
            self.drop(slot)
            if not self.suffices():
                self.add(slot)
            elif sparing is not None:
                sparing.look_at(self.view)

    def rank(self) -> Rank:
        """Less lost work first, then fewer victims, then their ids."""
        victims = {*self.jobs(), *self.pieces()}
        return sum(int(self._costs[slot]) for slot in self.chosen), len(victims), tuple(sorted(victims))

    def jobs(self) -> dict[JobId, Job]:
        """The whole jobs chosen, in slot order."""
        slots = self._claimant.standing.holdings.slots
        wholes = (slots[slot].job for slot in sorted(self.chosen) if not slots[slot].is_surplus)
        return {job.id: job for job in wholes}

    def pieces(self) -> dict[JobId, list[int]]:
        """The pieces chosen (by slot) of jobs that go on."""
        slots = self._claimant.standing.holdings.slots
        found: dict[JobId, list[int]] = {}
        for slot in sorted(self.chosen):
            if slots[slot].is_surplus and self._whole_of(slot) not in self.chosen:
                found.setdefault(slots[slot].job.id, []).append(slot)
        return found

    def _whole_of(self, slot: int) -> int:
        holdings = self._claimant.standing.holdings
        return holdings.slot_of(holdings.slots[slot].job.id)

    def _dearest_first(self, slot: int) -> tuple[bool, int, int, JobId, int]:
        columns = self._columns
        return (
            bool(columns.is_surplus[slot]),
            -int(self._costs[slot]),
            -int(columns.amount[slot]),
            self._claimant.standing.holdings.slots[slot].job.id,
            slot,
        )

    def _note_size(self, slot: int) -> None:
        self._loss(slot).note_size(self._chain(slot), int(self._columns.amount[slot]))

    def _loss(self, slot: int) -> "_Loss":
        return self._pieces if self._columns.is_surplus[slot] else self._wholes

    def _chain(self, slot: int) -> tuple[int, ...]:
        return self._claimant.standing.tree.chains[int(self._columns.queue[slot])]

    def _give(self, slot: int, *, times: int) -> None:
        standing = self._claimant.standing
        holding = standing.holdings.slots[slot]
        self.view.take(standing.footprint(holding.job, holding.placement), times=-times)

    def _count(self, slot: int, *, gives: int) -> None:
        amount = gives * int(self._columns.amount[slot])
        held = self._claimant.standing.holdings.slots[slot].accelerator_type
        for queue in self._chain(slot):
            self._gone[queue] += amount
            self._gone_of_type[queue, held] += amount
        self._loss(slot).change(self._chain(slot), amount)


class _Loss:
    """What each queue would lose, all below it included."""

    def __init__(self, num_queues: int) -> None:
        self.nothing = [0] * num_queues
        self._gone = [0] * num_queues
        self._largest = [0] * num_queues  # victim that was ever chosen in it

    def before_last(self, queue: int, amount: int) -> int:
        """What would be gone, with one more victim of this size, before the largest of them leaves."""
        return self._gone[queue] + amount - max(self._largest[queue], amount)

    def change(self, queues: tuple[int, ...], amount: int) -> None:
        """So much more is gone."""
        for queue in queues:
            self._gone[queue] += amount

    def note_size(self, queues: tuple[int, ...], amount: int) -> None:
        """A victim of this size is chosen."""
        for queue in queues:
            self._largest[queue] = max(self._largest[queue], amount)

    def forget_sizes(self) -> None:
        """Before those still chosen are noted anew."""
        self._largest = [0] * len(self._largest)


def choose(
    claimant: Claimant,
    columns: Columns,
    slots: BoolArray,
    *,
    rows: Rows,
    domain: int,
    most_first: bool = False,
) -> Selection | None:
    """Victims among `slots` that make room in the domain, if the greedy way finds some.

    `rows` are those of the domain, grouped by unit, and within it in the order in which they are considered.
    `most_first`: whoever gains most leaves first, whatever it costs. That finds a way where cheap victims
    would use up what may be reclaimed.
    """
    search = _Search(claimant, columns, slots, rows=rows, domain=domain, most_first=most_first)
    if not search.clear_limits() or not search.clear_room():
        return None
    selection, sparing = search.selection, None
    if counts_exactly(claimant, columns, domain=domain, view=selection.view):
        sparing = Sparing(claimant, rows=rows, domain=domain, chosen=selection.chosen)
    selection.spare_the_needless(sparing)
    return selection


class _Search:
    """The greedy part."""

    def __init__(
        self,
        claimant: Claimant,
        columns: Columns,
        slots: BoolArray,
        *,
        rows: Rows,
        domain: int,
        most_first: bool,
    ) -> None:
        self.selection = Selection(claimant, columns)
        self._claimant = claimant
        self._columns = columns
        self._left = slots.copy()  # those that may still be chosen
        self._rows = rows
        self._joins = np.ones(len(rows.slot), dtype=np.bool_)  # rows that may leave together with others
        self._domain = domain
        self._most_first = most_first

    def clear_limits(self) -> bool:
        """Victims until no limit is in the way: in the queue that is over it, the cheapest for its size, or
        the largest.
        """
        while (queue := self.selection.missing_limit()) is not None:
            inside = np.isin(self._columns.queue, self._claimant.inside(queue))
            slots = np.flatnonzero(self._left & inside & (self._columns.amount > 0))
            if not slots.size:
                return False
            costs = self._claimant.standing.holdings.costs()[slots]
            price = costs / self._columns.amount[slots]
            size = -self._columns.amount[slots] * self._most_first
            name = (self._columns.name_next[slots], self._columns.name_first[slots])
            slot = int(slots[np.lexsort((slots, *name, price, size))[0]])
            if not self._add(slot):
                self._rule_out(slot)
        return True

    def clear_room(self) -> bool:
        """Victims until the domain holds the whole gang: many at a time as long as many are needed."""
        while (need := self._need()) > NUM_SINGLY:
            if self._most_first or not self._accept_many(need):
                break
        while (need := self._need()) > 0:
            rows = self._best_offer(need)
            if not rows:
                return False
            self._accept(rows)
        return True

    def _accept_many(self, need: int) -> bool:
        """Adds the cheapest offers, each by itself, for half of what is needed; tells whether there were any.

        What was not offered before may be cheaper afterwards: hence not all at once.
        """
        alone, together, offers = self._all_offers()
        useful = np.flatnonzero(offers.gained > 0)
        price = offers.cost[useful] / np.minimum(offers.gained[useful], need)
        rows, wanted, slots = np.concatenate([alone, together]), (need + 1) // 2, dict[int, None]()
        for best in useful[np.lexsort((offers.length[useful], price))].tolist():
            chosen = rows[best - int(offers.length[best]) + 1 : best + 1]
            own = dict.fromkeys(self._rows.slot[chosen].tolist())
            if wanted < int(offers.gained[best]) or not slots.keys().isdisjoint(own):
                continue
            wanted -= int(offers.gained[best])
            slots |= own
            if not wanted:
                break
        return self._add_many(list(slots))

    def _add_many(self, slots: list[int]) -> bool:
        """Adds those of the slots that their queues may give; tells whether there were any."""
        added: list[int] = []
        for slot in slots:
            if self.selection.may_add(slot):
                added.extend(self.selection.note(slot))
        self.selection.release(added)
        self._left[added] = False
        return bool(added)

    def _need(self) -> int:
        return self._claimant.request.num_workers - self._claimant.room(self.selection.view, self._domain)

    def _accept(self, rows: list[int]) -> None:
        """Adds all victims of an offer, or none: the one that is too much then leaves alone or not at all."""
        added: list[int] = []
        for row in rows:
            slot = int(self._rows.slot[row])
            if slot in self.selection.chosen:  # with its whole job
                continue
            more = self._add(slot)
            if not more:
                break
            added.extend(more)
        else:
            return
        if not added:
            self._rule_out(slot)
            return
        self.selection.undo(added)
        self._left[added] = True
        self._joins[row] = False

    def _add(self, slot: int) -> list[int]:
        """Adds a victim, and what leaves with it, if its queue may give that much."""
        if not self.selection.may_add(slot):
            return []
        added = self.selection.add(slot)
        self._left[added] = False
        return added

    def _rule_out(self, slot: int) -> None:
        """Beside those chosen, neither this one nor any as large of its queue is allowed."""
        columns = self._columns
        is_like = (columns.queue == columns.queue[slot]) & (columns.is_surplus == columns.is_surplus[slot])
        self._left &= ~(is_like & (columns.amount >= columns.amount[slot]))

    def _best_offer(self, need: int) -> list[int]:
        """The rows that cost least for each worker gained; among equals the fewest."""
        alone, together, offers = self._all_offers()
        useful = np.flatnonzero(offers.gained > 0)
        if not useful.size:
            return []
        best = int(useful[self._first(offers, useful, need)])
        rows = np.concatenate([alone, together])[best - int(offers.length[best]) + 1 : best + 1]
        return [int(row) for row in rows]

    def _all_offers(self) -> tuple[IntArray, IntArray, Offers]:
        """The rows left, those that may leave together with others, and the offers of both in turn."""
        is_left = self._left[self._rows.slot]
        alone, together = np.flatnonzero(is_left), np.flatnonzero(is_left & self._joins)
        counts = self._claimant.counts(self.selection.view)
        offers = self._offers(singles, alone, counts).joined(self._offers(prefixes, together, counts))
        return alone, together, offers

    def _offers(self, way: Callable[..., Offers], rows: IntArray, counts: IntArray) -> Offers:
        free = self.selection.view
        return way(self._claimant, self._rows.only(rows), free=free, counts=counts)

    def _first(self, offers: Offers, useful: IntArray, need: int) -> int:
        gained = np.minimum(offers.gained[useful], need)
        price = offers.cost[useful] / gained
        if self._most_first:
            return int(np.lexsort((price, -gained))[0])
        cheapest = np.flatnonzero(price == price.min())
        return int(cheapest[np.argmin((offers.length[useful] / gained)[cheapest])])
