"""Chooses victims inside one domain: greedily by lost work, then spares whoever is not needed.

Greedy: in each round each candidate is seen as leaving alone, and those of each unit one after another in a
fixed order; what has the least cost / workers gained leaves. Then each victim is put back if the job can
start all the same, dearest first. Fewer victims never free more, so in the end none could stay: the choice
is minimal by construction.
"""

from collections.abc import Callable, Iterator

import numpy as np

from scheduling.candidates import Claimant, Offers, Rows, prefixes, singles
from scheduling.holdings import Columns
from scheduling.model import Job
from scheduling.supply import BoolArray, IntArray

Rank = tuple[int, int, tuple[str, ...]]


class Selection:
    """Victims chosen so far, and how things would stand without them."""

    def __init__(self, claimant: Claimant, columns: Columns) -> None:
        self.view = claimant.standing.later.copy()
        self.chosen: set[int] = set()
        self._claimant = claimant
        self._columns = columns
        self._gone = [0] * len(claimant.standing.tree.queues)  # of each queue, all below it included
        self._largest = [0] * len(claimant.standing.tree.queues)  # victim that was ever chosen in it

    def may_add(self, slot: int) -> bool:
        """Reclaim only while every queue on the victim's side is above its guarantee.

        Most victims are allowed if the largest goes last, so all others have to leave the queue above it:
        usage - (sum of victims - largest victim) > guarantee.
        """
        amount = int(self._columns.amount[slot])
        path = self._claimant.reclaim.get(int(self._columns.queue[slot]), ())
        tree, gone, largest = self._claimant.standing.tree, self._gone, self._largest
        return all(tree.above_guarantee(q, gone[q] + amount - max(largest[q], amount)) for q in path)

    def add(self, slot: int) -> None:
        """One more victim."""
        self.chosen.add(slot)
        self._change(slot, gives=1)
        self._note_size(slot)

    def drop(self, slot: int) -> None:
        """This one may stay."""
        self.chosen.remove(slot)
        self._change(slot, gives=-1)

    def undo(self, slots: list[int]) -> None:
        """These were not chosen after all."""
        for slot in slots:
            self.drop(slot)
        self._largest = [0] * len(self._largest)
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

    def spare_the_needless(self) -> None:
        """Puts back whoever can stay, dearest first."""
        for slot in sorted(self.chosen, key=self._dearest_first):
            self.drop(slot)
            if not self.suffices():
                self.add(slot)

    def rank(self) -> Rank:
        """Less lost work first, then fewer victims, then their ids."""
        ids = tuple(sorted(job.id for job in self.jobs()))
        return sum(int(self._columns.cost[slot]) for slot in self.chosen), len(self.chosen), ids

    def jobs(self) -> Iterator[Job]:
        """The jobs chosen, in slot order."""
        return (self._claimant.standing.holdings.slots[slot].job for slot in sorted(self.chosen))

    def _dearest_first(self, slot: int) -> tuple[int, int, int]:
        return -int(self._columns.cost[slot]), -int(self._columns.amount[slot]), slot

    def _note_size(self, slot: int) -> None:
        for queue in self._claimant.standing.tree.chains[self._columns.queue[slot]]:
            self._largest[queue] = max(self._largest[queue], int(self._columns.amount[slot]))

    def _change(self, slot: int, *, gives: int) -> None:
        standing = self._claimant.standing
        holding = standing.holdings.slots[slot]
        self.view.take(standing.footprint(holding.job, holding.placement), times=-gives)
        for queue in standing.tree.chains[holding.queue]:
            self._gone[queue] += gives * holding.amount_milli


def choose(
    claimant: Claimant,
    columns: Columns,
    slots: BoolArray,
    *,
    rows: Rows,
    units: IntArray,
    most_first: bool = False,
) -> Selection | None:
    """Victims among `slots` that make room in the domain of these units, if the greedy way finds some.

    `rows` are those of the domain, grouped by unit, and within it in the order in which they are considered.
    `most_first`: whoever gains most leaves first, whatever it costs. That finds a way where cheap victims
    would use up what may be reclaimed.
    """
    search = _Search(claimant, columns, slots, rows=rows, units=units, most_first=most_first)
    if not search.clear_limits() or not search.clear_room():
        return None
    search.selection.spare_the_needless()
    return search.selection


class _Search:
    """The greedy part."""

    def __init__(
        self,
        claimant: Claimant,
        columns: Columns,
        slots: BoolArray,
        *,
        rows: Rows,
        units: IntArray,
        most_first: bool,
    ) -> None:
        self.selection = Selection(claimant, columns)
        self._claimant = claimant
        self._columns = columns
        self._left = slots.copy()  # those that may still be chosen
        self._rows = rows
        self._joins = np.ones(len(rows.slot), dtype=np.bool_)  # rows that may leave together with others
        self._units = units
        self._most_first = most_first

    def clear_limits(self) -> bool:
        """Victims until no limit is in the way: in the queue that is over it, the cheapest for its size."""
        while (queue := self.selection.missing_limit()) is not None:
            inside = np.isin(self._columns.queue, self._claimant.inside(queue))
            slots = np.flatnonzero(self._left & inside & (self._columns.amount > 0))
            if not slots.size:
                return False
            slot = int(slots[np.argmin(self._columns.cost[slots] / self._columns.amount[slots])])
            if not self._add(slot):
                self._rule_out(slot)
        return True

    def clear_room(self) -> bool:
        """Victims until the domain holds the whole gang."""
        while (need := self._need(counts := self._claimant.counts(self.selection.view))) > 0:
            rows = self._best_offer(counts, need)
            if not rows:
                return False
            self._accept(rows)
        return True

    def _need(self, counts: IntArray) -> int:
        return self._claimant.request.num_workers - int(counts[self._units].sum())

    def _accept(self, rows: list[int]) -> None:
        """Adds all victims of an offer, or none: the one that is too much then leaves alone or not at all."""
        added: list[int] = []
        for row in rows:
            slot = int(self._rows.slot[row])
            if not self._add(slot):
                break
            added.append(slot)
        else:
            return
        if not added:
            self._rule_out(slot)
            return
        self.selection.undo(added)
        self._left[added] = True
        self._joins[row] = False

    def _add(self, slot: int) -> bool:
        """Adds a victim if its queue may give that much."""
        if not self.selection.may_add(slot):
            return False
        self.selection.add(slot)
        self._left[slot] = False
        return True

    def _rule_out(self, slot: int) -> None:
        """Beside those chosen, neither this one nor any as large of its queue is allowed."""
        is_like = self._columns.queue == self._columns.queue[slot]
        self._left &= ~(is_like & (self._columns.amount >= self._columns.amount[slot]))

    def _best_offer(self, counts: IntArray, need: int) -> list[int]:
        """The rows that cost least for each worker gained; among equals the fewest."""
        is_left = self._left[self._rows.slot]
        alone, together = np.flatnonzero(is_left), np.flatnonzero(is_left & self._joins)
        offers = self._offers(singles, alone, counts).joined(self._offers(prefixes, together, counts))
        useful = np.flatnonzero(offers.gained > 0)
        if not useful.size:
            return []
        best = int(useful[self._first(offers, useful, need)])
        rows = np.concatenate([alone, together])[best - int(offers.length[best]) + 1 : best + 1]
        return [int(row) for row in rows]

    def _offers(self, way: Callable[..., Offers], rows: IntArray, counts: IntArray) -> Offers:
        free = self.selection.view
        return way(self._claimant, self._columns, self._rows.only(rows), free=free, counts=counts)

    def _first(self, offers: Offers, useful: IntArray, need: int) -> int:
        gained = np.minimum(offers.gained[useful], need)
        price = offers.cost[useful] / gained
        if self._most_first:
            return int(np.lexsort((price, -gained))[0])
        cheapest = np.flatnonzero(price == price.min())
        return int(cheapest[np.argmin((offers.length[useful] / gained)[cheapest])])
