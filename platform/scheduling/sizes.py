"""The sizes that an elastic gang may have, and the pieces in which it shrinks.

Allowed: its least size, and every multiple of its step above that. A step keeps tensor groups whole.
"""

import math

from scheduling.model import Growth, Job, Placement, Policy


def step_of(job: Job) -> int:
    """By how many workers the gang grows or shrinks."""
    if job.group_workers <= 1:
        return max(job.step_workers, 1)
    return math.lcm(max(job.step_workers, 1), job.group_workers)


def size_up_to(job: Job, most: int) -> int:
    """The largest allowed size that is not above `most`; 0 if there is none."""
    if most < job.least_workers:
        return 0
    return max(job.least_workers, most - most % step_of(job)) if job.is_elastic else job.num_workers


def largest_size(job: Job, policy: Policy) -> int:
    """The largest size that the policy grants the job."""
    return size_up_to(job, job.most_workers if policy.growth is not Growth.WANTED else job.num_workers)


def in_pieces(job: Job, placement: Placement) -> tuple[Placement, ...]:
    """What the gang needs at least, then its surplus in pieces of one step each. The last ranks are surplus,
    and any of the pieces may leave.
    """
    step = step_of(job)
    num_pieces = max(len(placement) - job.least_workers, 0) // step if job.is_elastic else 0
    first = len(placement) - num_pieces * step
    pieces = (placement[start : start + step] for start in range(first, len(placement), step))
    return placement[:first], *pieces
