"""What was seen of a case: the settled state at every moment at which something could change."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from scheduling.model import Eta, Reason


@dataclass(frozen=True, slots=True)
class Seen:
    """The settled state at one moment."""

    t: int
    running: Mapping[str, list[str]]  # the node of each pod, leaving ones included
    pending: frozenset[str]
    reasons: Mapping[str, Reason]
    etas: Mapping[str, Eta]
    usage: Mapping[str, int | float]  # devices of each queue, in whole numbers where they are whole
    usage_by_type: Mapping[str, Mapping[str, int | float]]  # the same by accelerator type
    devices: Mapping[str, int | float]  # that each job holds, pods that leave in a shrink included
    sizes: Mapping[str, tuple[int, int]]  # the fewest and the most pods with which each job may run


@dataclass(slots=True)
class History:
    """All moments in order, and what was counted."""

    seen: dict[int, Seen] = field(default_factory=dict)
    before: dict[str, Mapping[str, list[str]]] = field(default_factory=dict)  # what ran when a job came
    first_starts: dict[str, int] = field(default_factory=dict)
    evictions: Counter[str] = field(default_factory=Counter)  # for another job
    withdrawals: Counter[str] = field(default_factory=Counter)  # of gangs that lost pods
    pods_removed: Counter[str] = field(default_factory=Counter)
    beneficiaries: dict[str, str] = field(default_factory=dict)  # the job for which each was evicted last
    problems: list[tuple[int, str]] = field(default_factory=list)  # what the invariants or the clock found

    def at(self, t: int) -> Seen:
        """The state at a moment: nothing changes between two notes."""
        return self.seen[max(noted for noted in self.seen if noted <= t)]

    def previous(self, seen: Seen) -> Seen | None:
        """The state before a moment."""
        return max(
            (each for each in self.seen.values() if each.t < seen.t), key=lambda each: each.t, default=None
        )

    def between(self, start: int, end: int) -> Iterator[Seen]:
        """All states in effect from `start` until just before `end`."""
        if start < end and any(noted <= start for noted in self.seen):
            yield self.at(start)
        yield from (seen for t, seen in self.seen.items() if start < t < end)
