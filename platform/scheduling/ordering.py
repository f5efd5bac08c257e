"""Whose turn it is: between queues by share (or one line for all), inside by priority and submit time."""

import heapq
from collections.abc import Iterable, Iterator

from scheduling.model import Job, JobId, Order
from scheduling.shares import QueueTree

Turn = tuple[int, int, JobId]


def turn_of(job: Job) -> Turn:
    """A job's place in its queue: higher priority, then earlier first submit, then id."""
    return -job.priority, job.submitted_at_ms, job.id


def in_turn(jobs: Iterable[Job], *, tree: QueueTree, order: Order) -> Iterator[Job]:
    """Each job once, always from the queue whose turn it is when the next one is asked for.

    What was decided for the jobs before changes the shares, so the order is only known step by step.
    """
    if order is Order.STRICT_FIFO:
        yield from sorted(jobs, key=turn_of)
        return
    lines = _lines(jobs, tree)
    heap = [(tree.turn_key(queue), queue) for queue in lines]
    heapq.heapify(heap)
    while heap:
        key, queue = heapq.heappop(heap)
        now = tree.turn_key(queue)
        if now > key:  # its share grew while it waited for its turn
            heapq.heappush(heap, (now, queue))
            continue
        yield lines[queue].pop()
        if lines[queue]:
            heapq.heappush(heap, (tree.turn_key(queue), queue))


def _lines(jobs: Iterable[Job], tree: QueueTree) -> dict[int, list[Job]]:
    """The jobs of each queue, the first one last, so that it can be popped."""
    lines: dict[int, list[Job]] = {}
    for job in sorted(jobs, key=turn_of, reverse=True):
        lines.setdefault(tree.number[job.queue], []).append(job)
    return lines
