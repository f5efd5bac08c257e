"""Whose turn it is: between queues by share (or one line for all), inside by rank, then by run time and age.

A rank is a number, higher first: priority, and where the policy says so, below it a level of service. Who
has got least service so far, or needs least for the rest, comes first among equals. Levels double, so that
two jobs do not take turns in evicting each other for every second of difference.
"""

import heapq
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping

import numpy as np

from scheduling.columns import Columns
from scheduling.model import Job, JobId, Order, Policy, Runtimes
from scheduling.shares import QueueTree
from scheduling.supply import FloatArray, IntArray

Turn = tuple[int, int, int, JobId]

NUM_LEVELS = 256
UNKNOWN = -1
LATEST = 1 << 62  # whoever's run time nobody knows comes last
LEAST_SERVICE = 60_000_000  # one device for a minute: less is not told apart
STEPS_PER_DOUBLING = 4
MS_PER_LEVEL = 1_000_000_000  # of lost work: more than jobs lose, so that worse levels leave first
HUNDRED = 100


class Ranking:
    """Ranks and turns by one policy, at one moment."""

    def __init__(self, policy: Policy, *, now_ms: int) -> None:
        self._policy = policy
        self._order = policy.order
        self._now_ms = now_ms
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
        """A job's place in its queue: higher rank; where the policy looks at run times, the shorter one, less
        a share of the time it has waited; then earlier first submit, then id.
        """
        if self._order is Order.SHORTEST_REMAINING:
            return -job.priority, self._aged(job), job.submitted_at_ms, job.id
        expected = self._expected(job) if self._order is Order.LEAST_ATTAINED else 0
        return -self.rank_of(job), expected, job.submitted_at_ms, job.id

    def ranks(self, columns: Columns) -> IntArray:
        """The ranks of holdings now."""
        given = columns.held * np.maximum(self._now_ms - columns.placed_at_ms, 0) * ~columns.is_new
        if self._order is Order.LEAST_ATTAINED:
            service = self._damped(columns.attained + given, columns.held)
            level = np.searchsorted(self._attained, service, side="right")
        elif self._order is Order.SHORTEST_REMAINING:
            level = self._remaining_levels(columns.remaining, given)
        else:
            level = np.zeros(len(columns.priority), dtype=np.int64)
        return columns.priority * NUM_LEVELS + NUM_LEVELS - 1 - level

    def lateness(self, columns: Columns) -> IntArray:
        """How much dearer an eviction is for each level that a holding is better than the worst, in ms of
        lost work: by service, those that have had (or need) most leave first.
        """
        level = self.ranks(columns) % NUM_LEVELS
        if self.is_plain or not level.size:
            return np.zeros(len(columns.priority), dtype=np.int64)
        return np.asarray((level - level.min()) * MS_PER_LEVEL)

    def _damped(self, service: IntArray, held: IntArray) -> IntArray | FloatArray:
        """Service by the square root of the gang's devices, where the policy counts so."""
        if not self._policy.damps_size:
            return service
        return service / np.sqrt(np.maximum(held, 1000) / 1000)

    def _remaining_levels(self, remaining: IntArray, given: IntArray) -> IntArray:
        """Who runs on beyond what was predicted is taken to need as much again."""
        left = np.where(given < remaining, remaining - given, given)
        level = np.searchsorted(self._remaining, left, side="right")
        return np.where(remaining == UNKNOWN, NUM_LEVELS - 1, np.minimum(level, NUM_LEVELS - 1))

    def _level_of(self, job: Job) -> int:
        if self._order is Order.LEAST_ATTAINED:
            service: float = job.attained_milli_ms
            if self._policy.damps_size:
                service = service / math.sqrt(max(job.total_milli, 1000) / 1000)
            return bisect_right(self._attained, service)
        if self._order is Order.SHORTEST_REMAINING:
            remaining = remaining_service(job)
            return NUM_LEVELS - 1 if remaining == UNKNOWN else bisect_right(self._remaining, remaining)
        return 0

    def _aged(self, job: Job) -> int:
        waited = max(self._now_ms - job.submitted_at_ms, 0)
        return self._expected(job) - waited * self._policy.ageing_percent // HUNDRED

    def _expected(self, job: Job) -> int:
        """The run time that the policy believes in, in ms."""
        limit = LATEST if job.max_runtime_ms is None else job.max_runtime_ms
        if self._policy.runtimes is Runtimes.LIMITS or job.predicted_ms is None:
            return limit
        return min(limit, job.predicted_ms)


def remaining_service(job: Job) -> int:
    """What the job is expected to need from its (next) start on, in milli-accelerators x ms; UNKNOWN where
    neither work left, nor prediction, nor limit says.
    """
    if job.remaining_ms is not None:
        return job.remaining_ms * job.accelerators_milli
    expected = job.max_runtime_ms if job.predicted_ms is None else job.predicted_ms
    return UNKNOWN if expected is None else expected * job.num_workers * job.accelerators_milli


def turn_of(job: Job) -> tuple[int, int, JobId]:
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
    return [quantum << step for step in range(62 - quantum.bit_length())]


def _steps() -> list[int]:
    """The same for remaining service: four steps to each doubling."""
    return [int(LEAST_SERVICE * 2 ** (step / STEPS_PER_DOUBLING)) for step in range(160)]
