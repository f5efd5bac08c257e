"""The queue tree: who uses how much, what limits still allow, whose turn it is, who may take back from whom.

Three integer accounts per queue, each the sum over its subtree, in milli-accelerators:
- used: held by running jobs and by leaving ones, until these are gone;
- staying: used less what leaving jobs hold;
- claimed: what waiting jobs will hold on the devices kept for them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scheduling.model import Queue, QueuePath

PARTS_PER_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class LimitHit:
    """A limit that does not allow a grant. `used_milli` includes `claimed_milli`."""

    queue: QueuePath
    limit_milli: int
    used_milli: int
    claimed_milli: int


class QueueTree:
    """Queues by number, in path order. One that a job names and nobody defined has no guarantee, no limit."""

    def __init__(self, queues: Iterable[Queue], *, named: Iterable[QueuePath]) -> None:
        rows = {queue.path: queue for queue in queues}
        for path in named:
            rows.setdefault(path, Queue(path=path))
        self.queues = tuple(rows[path] for path in sorted(rows))
        self.number = {queue.path: number for number, queue in enumerate(self.queues)}
        self.chains = tuple(tuple(self._upwards(number)) for number in range(len(self.queues)))
        self.guarantees = self._effective_guarantees()
        self.used = [0] * len(self.queues)
        self.staying = [0] * len(self.queues)
        self.claimed = [0] * len(self.queues)

    def hold(self, queue: int, amount: int) -> None:
        """A job starts in this queue (a negative amount: its start is taken back)."""
        for number in self.chains[queue]:
            self.used[number] += amount
            self.staying[number] += amount

    def leave(self, queue: int, amount: int) -> None:
        """A job is told to leave: used until it is gone, but no longer staying."""
        for number in self.chains[queue]:
            self.staying[number] -= amount

    def claim(self, queue: int, amount: int) -> None:
        """Devices are kept for a waiting job (a negative amount: no longer)."""
        for number in self.chains[queue]:
            self.claimed[number] += amount

    def beyond_limit(self, queue: int, wanted: int) -> LimitHit | None:
        """The nearest limit that the request alone exceeds."""
        return next((self._hit(q, 0, 0) for q in self._limited(queue) if wanted > self._limit(q)), None)

    def limit_now(self, queue: int, wanted: int, *, own_claim: int = 0) -> LimitHit | None:
        """The nearest limit in the way of a start now, or of starts that were promised to others."""
        for number in self._limited(queue) if wanted else ():
            claimed = self.claimed[number] - own_claim
            if self.used[number] + wanted > self._limit(number):
                return self._hit(number, self.used[number], 0)
            if self.staying[number] + claimed + wanted > self._limit(number):
                return self._hit(number, self.staying[number] + claimed, claimed)
        return None

    def limits_later(self, queue: int, wanted: int) -> list[tuple[int, int]]:
        """The queues whose limits are in the way even when all leaving jobs are gone, and by how much."""
        over = [
            (q, self.staying[q] + self.claimed[q] + wanted - self._limit(q))
            for q in (self._limited(queue) if wanted else ())
        ]
        return [(number, excess) for number, excess in over if excess > 0]

    def turn_key(self, queue: int) -> tuple[tuple[int, int, int], ...]:
        """Smallest first. From the top of the tree down, for each ancestor and last the queue itself: below
        its guarantee by used / guarantee, then beyond it by (used - guarantee) / weight, ties in path order.
        """
        return tuple((*self._share(number), number) for number in reversed(self.chains[queue]))

    def within_guarantee(self, queue: int, wanted: int) -> bool:
        """usage + wanted <= guarantee, by what is held now and by what will be held."""
        held = max(self.used[queue], self.staying[queue] + self.claimed[queue])
        return held + wanted <= self.guarantees[queue]

    def reclaimable(self, queue: int, wanted: int) -> dict[int, tuple[int, ...]]:
        """The queues from which a job of this queue may reclaim, each with the queues whose usage has to be
        above their guarantees at every single eviction.

        Let A be the nearest common ancestor. The claimant, and each of its ancestors below A, must stay
        within its guarantee with the job; the victim's queue, and each of its ancestors below A, must be
        above its own.
        """
        if not wanted or not self.within_guarantee(queue, wanted):
            return {}
        chain = self.chains[queue]
        reach = self._reach(chain, wanted)
        found = {}
        for other in range(len(self.queues)):
            meets, path = self._paths_below_common(chain, other)
            if other != queue and meets <= reach and all(self.above_guarantee(number) for number in path):
                found[other] = path
        return found

    def above_guarantee(self, queue: int, gone: int = 0) -> bool:
        """Whether usage, with leaving jobs and `gone` counted as gone, is above the guarantee."""
        return self.staying[queue] - gone > self.guarantees[queue]

    def _reach(self, chain: tuple[int, ...], wanted: int) -> int:
        """How far up the common ancestor may be: the first queue that would pass its guarantee."""
        passing = (step for step, q in enumerate(chain) if not self.within_guarantee(q, wanted))
        return next(passing, len(chain))

    def _paths_below_common(self, chain: tuple[int, ...], other: int) -> tuple[int, tuple[int, ...]]:
        """Where the other's chain meets this one (at the end: above the roots), and its part below that."""
        theirs = self.chains[other]
        below = [number for number in theirs if number not in chain]
        meets = chain.index(theirs[len(below)]) if len(below) < len(theirs) else len(chain)
        return max(meets, 1), tuple(below) or (other,)

    def _upwards(self, number: int) -> Iterator[int]:
        seen: set[int] = set()
        step: int | None = number
        while step is not None and step not in seen:  # a loop of parents ends where it closes
            seen.add(step)
            yield step
            parent = self.queues[step].parent
            step = self.number.get(parent) if parent is not None else None

    def _effective_guarantees(self) -> list[int]:
        """A parent guarantees at least what its children are guaranteed, written down or not."""
        effective = [queue.guarantee_milli for queue in self.queues]
        of_children = [0] * len(self.queues)
        for number in sorted(range(len(self.queues)), key=lambda q: -len(self.chains[q])):
            effective[number] = max(effective[number], of_children[number])
            for parent in self.chains[number][1:2]:
                of_children[parent] += effective[number]
        return effective

    def _share(self, number: int) -> tuple[int, int]:
        used, guarantee = self.staying[number] + self.claimed[number], self.guarantees[number]
        if used < guarantee:
            return 0, used * PARTS_PER_MILLION // guarantee
        return 1, (used - guarantee) * PARTS_PER_MILLION // max(self.queues[number].weight, 1)

    def _limited(self, queue: int) -> list[int]:
        return [number for number in self.chains[queue] if self.queues[number].limit_milli is not None]

    def _limit(self, number: int) -> int:
        limit = self.queues[number].limit_milli
        assert limit is not None
        return limit

    def _hit(self, number: int, used: int, claimed: int) -> LimitHit:
        return LimitHit(self.queues[number].path, self._limit(number), used, claimed)
