"""Whose turn it is: between queues by share (or one line for all), inside by rank and submit time.

A rank is a number, higher first: priority, and where the policy says so, below it a level of service. Who
has got least service so far, or needs least for the rest, comes first among equals. Levels are coarse, so
that two jobs do not take turns in evicting each other for every second of difference.
"""

import heapq
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Protocol

import numpy as np

from scheduling.model import Job, JobId, Order, Policy
from scheduling.shares import QueueTree
from scheduling.supply import IntArray

Turn = tuple[int, int, JobId]

NUM_LEVELS = 256
UNKNOWN = -1
LEAST_SERVICE = 60_000_000  # one device for a minute: less is not told apart
STEPS_PER_DOUBLING = 4


class Served(Protocol):
    """Columns of what holdings have got and need (`scheduling.holdings.Columns`)."""

    priority: IntArray
    placed_at_ms: IntArray
    held: IntArray
    attained: IntArray
    remaining: IntArray


class Ranking:
    """Ranks by one policy."""

    def __init__(self, policy: Policy) -> None:
        self._order = policy.order
        self._attained = _doublings(policy.service_quantum_milli_ms)
        self._remaining = _steps()

    @property
    def is_plain(self) -> bool:
        """Whether the rank is the priority alone."""
        return self._order not in (Order.LEAST_ATTAINED, Order.SHORTEST_REMAINING)

    def rank_of(self, job: Job) -> int:
        """The rank of a job that waits, or starts just now."""
        return job.priority * NUM_LEVELS + NUM_LEVELS - 1 - self._level_of(job)

    def turn_of(self, job: Job) -> Turn:
        """A job's place in its queue: higher rank, then earlier first submit, then id."""
        return -self.rank_of(job), job.submitted_at_ms, job.id

    def ranks(self, columns: Served, *, now_ms: int) -> IntArray:
        """The ranks of holdings now."""
        given = columns.held * np.maximum(now_ms - columns.placed_at_ms, 0)
        if self._order is Order.LEAST_ATTAINED:
            level = np.searchsorted(self._attained, columns.attained + given, side="right")
        elif self._order is Order.SHORTEST_REMAINING:
            level = self._remaining_levels(columns.remaining, given)
        else:
            level = np.zeros(len(columns.priority), dtype=np.int64)
        return columns.priority * NUM_LEVELS + NUM_LEVELS - 1 - level

    def _remaining_levels(self, remaining: IntArray, given: IntArray) -> IntArray:
        """Who runs on beyond what was predicted is taken to need as much again."""
        left = np.where(given < remaining, remaining - given, given)
        level = np.searchsorted(self._remaining, left, side="right")
        return np.where(remaining == UNKNOWN, NUM_LEVELS - 1, np.minimum(level, NUM_LEVELS - 1))

    def _level_of(self, job: Job) -> int:
        if self._order is Order.LEAST_ATTAINED:
            return bisect_right(self._attained, job.attained_milli_ms)
        if self._order is Order.SHORTEST_REMAINING:
            remaining = remaining_service(job)
            return NUM_LEVELS - 1 if remaining == UNKNOWN else bisect_right(self._remaining, remaining)
        return 0


def remaining_service(job: Job) -> int:
    """What the job is expected to need from its (next) start on, in milli-accelerators x ms; UNKNOWN where
    neither work left, nor prediction, nor limit says.
    """
    if job.remaining_ms is not None:
        return job.remaining_ms * job.accelerators_milli
    expected = job.max_runtime_ms if job.predicted_ms is None else job.predicted_ms
    return UNKNOWN if expected is None else expected * job.num_workers * job.accelerators_milli


def turn_of(job: Job) -> Turn:
    """A job's place in its queue by priority alone: higher priority, then earlier first submit, then id."""
    return -job.priority, job.submitted_at_ms, job.id


def in_turn(
    lines: Mapping[int, list[Job]], *, tree: QueueTree, ranking: Ranking, order: Order
) -> Iterator[Job]:
    """Each job once, always from the queue whose turn it is when the next one is asked for.

    What was decided for the jobs before changes the shares, so the order is only known step by step. `lines`
    has the jobs of each queue in order of turn.
    """
    if order is Order.STRICT_FIFO:
        yield from heapq.merge(*lines.values(), key=ranking.turn_of)
        return
    heap = [(tree.turn_key(queue), queue) for queue, line in lines.items() if line]
    heapq.heapify(heap)
    heads = dict.fromkeys(lines, 0)
    while heap:
        key, queue = heapq.heappop(heap)
        now = tree.turn_key(queue)
        if now > key:  # its share grew while it waited for its turn
            heapq.heappush(heap, (now, queue))
            continue
        line, head, version = lines[queue], heads[queue], tree.version
        while head < len(line) and tree.version == version:  # as long as no share changes, it stays in turn
            yield line[head]
            head += 1
        heads[queue] = head
        if head < len(line):
            heapq.heappush(heap, (tree.turn_key(queue), queue))


def _doublings(quantum: int) -> list[int]:
    """Service at which each level after the first begins."""
    return [quantum << step for step in range(NUM_LEVELS // 8)]


def _steps() -> list[int]:
    """The same for remaining service: four steps to each doubling."""
    return [int(LEAST_SERVICE * 2 ** (step / STEPS_PER_DOUBLING)) for step in range(160)]
