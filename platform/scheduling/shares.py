"""The queue tree: who uses how much, what limits still allow, whose turn it is, who may take back from whom.

Three integer accounts per queue, each the sum over its subtree, in milli-accelerators, in total (index 0)
and for each accelerator type (index 1 + its number):
- used: held by running jobs and by leaving ones, until these are gone;
- staying: used less what leaving jobs hold;
- claimed: what waiting jobs will hold on the devices kept for them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scheduling.model import Queue, QueuePath

PARTS_PER_MILLION = 1_000_000
NO_LIMIT = 1 << 62
TOTAL = 0


@dataclass(frozen=True, slots=True)
class Charge:
    """Who is charged how much: a queue (by number), on an accelerator type (by number; -1: none), a user."""

    queue: int
    amount: int
    accelerator_type: int = -1
    user: str = ""


@dataclass(frozen=True, slots=True)
class LimitHit:
    """A limit that does not allow a grant. `used_milli` includes `claimed_milli`. `accelerator_type` where it
    is a limit for one type; `user` where it is what one user may hold.
    """

    queue: QueuePath
    limit_milli: int
    used_milli: int
    claimed_milli: int
    accelerator_type: str = ""
    user: str = ""


class QueueTree:
    """Queues by number, in path order. One that a job names and nobody defined has no guarantee, no limit.

    `version` counts the changes of shares.
    """

    def __init__(
        self,
        queues: Iterable[Queue],
        *,
        named: Iterable[QueuePath],
        types: tuple[str, ...] = (),
        capacities: tuple[int, ...] = (),
    ) -> None:
        rows = {queue.path: queue for queue in queues}
        for path in named:
            rows.setdefault(path, Queue(path=path))
        self.queues = tuple(rows[path] for path in sorted(rows))
        self.types = types
        self.capacities = capacities  # of each type in the whole cluster, in milli-accelerators
        self.number = {queue.path: number for number, queue in enumerate(self.queues)}
        self.chains = tuple(tuple(self._upwards(number)) for number in range(len(self.queues)))
        self.limits = [self._limits(queue) for queue in self.queues]
        self._limited = [tuple(q for q in chain if min(self.limits[q]) < NO_LIMIT) for chain in self.chains]
        self._capped = [
            tuple(q for q in chain if self.queues[q].user_limit_milli is not None) for chain in self.chains
        ]
        self._caps_types = tuple(any(self.queues[q].type_limits for q in chain) for chain in self._limited)
        self.type_guarantees = [self._type_guarantees(queue) for queue in self.queues]
        self._guards_types = any(queue.type_guarantees for queue in self.queues)
        self.guarantees = self._effective_guarantees()
        self.past = self._summed_past()
        self.used, self.staying, self.claimed = (
            [[0] * (1 + len(types)) for _ in self.queues] for _ in range(3)
        )
        self.user_used: dict[tuple[int, str], int] = defaultdict(int)
        self.user_staying: dict[tuple[int, str], int] = defaultdict(int)
        self.user_claimed: dict[tuple[int, str], int] = defaultdict(int)
        self.version = 0

    def copy(self) -> "QueueTree":
        """The same queues with accounts of their own."""
        tree = QueueTree.__new__(QueueTree)
        tree.__dict__.update(self.__dict__)
        tree.used, tree.staying, tree.claimed = (
            [row.copy() for row in account] for account in (self.used, self.staying, self.claimed)
        )
        tree.user_used, tree.user_staying = self.user_used.copy(), self.user_staying.copy()
        tree.user_claimed = self.user_claimed.copy()
        return tree

    def hold(self, charge: Charge, *, times: int = 1) -> None:
        """A job starts (`times=-1`: its start is taken back, or it is gone)."""
        self._add(charge, times, self.used, self.staying)
        self._add_to_user(charge, times, self.user_used, self.user_staying)

    def leave(self, charge: Charge, *, times: int = 1) -> None:
        """A job is told to leave: used until it is gone, but no longer staying."""
        self._add(charge, -times, self.staying)
        self._add_to_user(charge, -times, self.user_staying)

    def claim(self, charge: Charge, *, times: int = 1) -> None:
        """Devices are kept for a waiting job (`times=-1`: no longer)."""
        self._add(charge, times, self.claimed)
        self._add_to_user(charge, times, self.user_claimed)

    def caps_users(self, queue: int) -> bool:
        """Whether the queue or one above it caps what a single user may hold."""
        return bool(self._capped[queue])

    def beyond_limit(self, queue: int, wanted: int, *, types: tuple[str, ...] = ()) -> LimitHit | None:
        """The nearest limit that the request alone exceeds; of a type, if it does so on all that it takes."""
        for q in self._capped[queue]:
            cap = self.queues[q].user_limit_milli
            if cap is not None and wanted > cap:
                return LimitHit(self.queues[q].path, cap, 0, 0, user="*")
        return self._too_small(queue, TOTAL, wanted) or self._beyond_types(queue, wanted, types)

    def limit_now(
        self, queue: int, wanted: int, *, accelerator_type: int = -1, user: str = "", own_claim: int = 0
    ) -> LimitHit | None:
        """The nearest limit in the way of a start now, or of starts that were promised to others: of the
        total, of the type if one is named, or of what the user may hold.
        """
        if not wanted:
            return None
        for q in self._limited[queue]:
            for index in (TOTAL, 1 + accelerator_type) if accelerator_type >= 0 else (TOTAL,):
                limit = self.limits[q][index]
                if self.used[q][index] + wanted > limit:
                    return self._hit(q, index, self.used[q][index], 0)
                promised = self.claimed[q][index] - own_claim
                if self.staying[q][index] + promised + wanted > limit:
                    return self._hit(q, index, self.staying[q][index] + promised, promised)
        return self._user_limit(queue, wanted, user, own_claim)

    def limits_later(self, queue: int, wanted: int) -> list[tuple[int, int]]:
        """The queues whose limits are in the way even when all leaving jobs are gone, and by how much."""
        over = [
            (q, self.staying[q][TOTAL] + self.claimed[q][TOTAL] + wanted - self.limits[q][TOTAL])
            for q in (self._limited[queue] if wanted else ())
        ]
        return [(number, excess) for number, excess in over if excess > 0]

    def allows_later(self, charge: Charge, gone: Iterable[Charge] = ()) -> bool:
        """Whether limits of the type and of the user leave room for the charge when all leaving jobs and
        these are gone.
        """
        queue, index = charge.queue, 1 + charge.accelerator_type
        leaving = list(gone) if self._caps_types[queue] or self._capped[queue] else []
        of_type = [each for each in leaving if each.accelerator_type == charge.accelerator_type]
        for q in self._limited[queue] if index else ():
            held = self.staying[q][index] + self.claimed[q][index] - self._inside(q, of_type)
            if held + charge.amount > self.limits[q][index]:
                return False
        of_user = [each for each in leaving if each.user == charge.user]
        for q in self._capped[queue]:
            cap, key = self.queues[q].user_limit_milli, (q, charge.user)
            held = self.user_staying[key] + self.user_claimed[key] - self._inside(q, of_user)
            if cap is not None and held + charge.amount > cap:
                return False
        return True

    def blocked_types(self, queue: int, wanted: int) -> frozenset[str]:
        """The accelerator types on which a limit does not allow this much more now."""
        if not wanted or not self._caps_types[queue]:
            return frozenset()
        return frozenset(
            name
            for number, name in enumerate(self.types)
            if any(self._is_full(q, 1 + number, wanted) for q in self._limited[queue])
        )

    def turn_key(self, queue: int) -> tuple[tuple[int, int, int], ...]:
        """Smallest first. From the top of the tree down, for each ancestor and last the queue itself: below
        its guarantee by used / guarantee, then beyond it by (dominant usage - guarantee + past usage) /
        weight, ties in path order. Usage is dominant as in Dominant Resource Fairness (Ghodsi, NSDI'11): of
        the type of which the queue has the largest part, scaled to the whole cluster.
        """
        return tuple((*self._share(number), number) for number in reversed(self.chains[queue]))

    def within_guarantee(self, queue: int, wanted: int) -> bool:
        """usage + wanted <= guarantee, by what is held now and by what will be held."""
        held = max(self.used[queue][TOTAL], self.staying[queue][TOTAL] + self.claimed[queue][TOTAL])
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

    def may_reclaim_on(self, queue: int, wanted: int, name: str) -> bool:
        """Whether no queue of the chain would pass what it is guaranteed of this type, where that is stated.
        (A type that is not in the cluster nobody can reclaim.)
        """
        if not self._guards_types:
            return True
        index = 1 + self.types.index(name) if name in self.types else TOTAL
        return all(
            self._held(q, index) + wanted <= guarantee
            for q in self.chains[queue]
            if (guarantee := self._guaranteed(q, index)) is not None
        )

    def guards_type(self, queue: int, accelerator_type: int, gone: int) -> bool:
        """Whether a queue that has lost so much of a type may lose no more of it: it is down to what it is
        guaranteed, where that is stated.
        """
        if not self._guards_types or accelerator_type < 0:
            return False
        guarantee = self.type_guarantees[queue][accelerator_type]
        return guarantee is not None and self.staying[queue][1 + accelerator_type] - gone <= guarantee

    def above_guarantee(self, queue: int, gone: int = 0) -> bool:
        """Whether usage, with leaving jobs and `gone` counted as gone, is above the guarantee."""
        return self.staying[queue][TOTAL] - gone > self.guarantees[queue]

    def _add(self, charge: Charge, times: int, *accounts: list[list[int]]) -> None:
        self.version += 1
        amount, index = times * charge.amount, 1 + charge.accelerator_type
        for account in accounts:
            for queue in self.chains[charge.queue]:
                account[queue][TOTAL] += amount
                if index:
                    account[queue][index] += amount

    def _inside(self, queue: int, charges: Iterable[Charge]) -> int:
        return sum(each.amount for each in charges if queue in self.chains[each.queue])

    def _add_to_user(self, charge: Charge, times: int, *accounts: dict[tuple[int, str], int]) -> None:
        for queue in self._capped[charge.queue]:
            for account in accounts:
                account[queue, charge.user] += times * charge.amount

    def _user_limit(self, queue: int, wanted: int, user: str, own_claim: int) -> LimitHit | None:
        for q in self._capped[queue]:
            cap, key = self.queues[q].user_limit_milli, (q, user)
            claimed = self.user_claimed[key] - own_claim
            used = max(self.user_used[key], self.user_staying[key] + claimed)
            if cap is not None and used + wanted > cap:
                return LimitHit(self.queues[q].path, cap, used, max(claimed, 0), user=user)
        return None

    def _is_full(self, queue: int, index: int, wanted: int) -> bool:
        promised = self.staying[queue][index] + self.claimed[queue][index]
        return max(self.used[queue][index], promised) + wanted > self.limits[queue][index]

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

    def _beyond_types(self, queue: int, wanted: int, types: tuple[str, ...]) -> LimitHit | None:
        if not self._caps_types[queue]:
            return None
        taken = (number for number, name in enumerate(self.types) if not types or name in types)
        hits = [self._too_small(queue, 1 + number, wanted) for number in taken]
        return hits[0] if hits and None not in hits else None

    def _too_small(self, queue: int, index: int, wanted: int) -> LimitHit | None:
        """The nearest limit of the total or a type that is smaller than a request."""
        smaller = (q for q in self._limited[queue] if wanted > self.limits[q][index])
        return next((self._hit(q, index, 0, 0) for q in smaller), None)

    def _upwards(self, number: int) -> Iterator[int]:
        seen: set[int] = set()
        step: int | None = number
        while step is not None and step not in seen:  # a loop of parents ends where it closes
            seen.add(step)
            yield step
            parent = self.queues[step].parent
            step = self.number.get(parent) if parent is not None else None

    def _limits(self, queue: Queue) -> list[int]:
        total = NO_LIMIT if queue.limit_milli is None else queue.limit_milli
        return [total, *(queue.type_limits.get(name, NO_LIMIT) for name in self.types)]

    def _type_guarantees(self, queue: Queue) -> list[int | None]:
        return [queue.type_guarantees.get(name) for name in self.types]

    def _effective_guarantees(self) -> list[int]:
        """A queue guarantees at least what its types and its children are guaranteed, written down or not."""
        effective = [max(queue.guarantee_milli, sum(queue.type_guarantees.values())) for queue in self.queues]
        of_children = [0] * len(self.queues)
        for number in self._deepest_first():
            effective[number] = max(effective[number], of_children[number])
            for parent in self.chains[number][1:2]:
                of_children[parent] += effective[number]
        return effective

    def _summed_past(self) -> list[int]:
        """Past usage of each queue with all below it."""
        past = [queue.past_milli for queue in self.queues]
        for number in self._deepest_first():
            for parent in self.chains[number][1:2]:
                past[parent] += past[number]
        return past

    def _deepest_first(self) -> list[int]:
        return sorted(range(len(self.queues)), key=lambda q: -len(self.chains[q]))

    def _share(self, number: int) -> tuple[int, int]:
        used = self.staying[number][TOTAL] + self.claimed[number][TOTAL]
        guarantee = self.guarantees[number]
        if used < guarantee:
            return 0, used * PARTS_PER_MILLION // guarantee
        beyond = max(used, self._dominant(number)) - guarantee + self.past[number]
        return 1, beyond * PARTS_PER_MILLION // max(self.queues[number].weight, 1)

    def _dominant(self, number: int) -> int:
        """What the queue would use if it had as large a part of all types as of the one it has most of."""
        if len(self.capacities) < 2:
            return 0
        staying, claimed, total = self.staying[number], self.claimed[number], sum(self.capacities)
        scaled = (
            (staying[index] + claimed[index]) * total // capacity
            for index, capacity in enumerate(self.capacities, start=1)
            if capacity
        )
        return max(scaled, default=0)

    def _held(self, queue: int, index: int) -> int:
        """By what is held now and by what will be held, the larger."""
        return max(self.used[queue][index], self.staying[queue][index] + self.claimed[queue][index])

    def _guaranteed(self, queue: int, index: int) -> int | None:
        return None if index == TOTAL else self.type_guarantees[queue][index - 1]

    def _hit(self, number: int, index: int, used: int, claimed: int) -> LimitHit:
        name = self.types[index - 1] if index else ""
        return LimitHit(self.queues[number].path, self.limits[number][index], used, claimed, name)
