"""When what is held now is believed to become free: an end for every holder, and rows of what each one holds.

Ends are safe rather than clever: a limit is enforced, so it bounds; whoever has neither limit nor prediction
never ends; whoever is overdue or leaving is gone in a moment, but not yet.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.columns import Columns
from scheduling.holdings import NO_LIMIT_MS, Holding
from scheduling.model import Basis, Job, Placement, Runtimes
from scheduling.standing import Standing
from scheduling.supply import BoolArray, IntArray

NEVER = NO_LIMIT_MS
PAST = -1  # before every moment: what ended so is free
MOMENT_MS = 1


@dataclass(frozen=True, slots=True)
class Tenures:
    """Who holds what until when. Holders by number, then a row per worker and a row per device of each.

    Leaving jobs and jobs that devices are kept for hold too, so a device may have two holders.
    """

    slots: Sequence[Holding]
    others: tuple[Job, ...]
    end: IntArray
    is_predicted: BoolArray
    queue: IntArray
    amount: IntArray
    worker_holder: IntArray
    worker_node: IntArray
    worker_cpus: IntArray
    worker_memory: IntArray
    device_holder: IntArray
    device_node: IntArray
    device_index: IntArray
    device_milli: IntArray

    def jobs(self) -> Iterator[Job]:
        """The job of each holder."""
        yield from (slot.job for slot in self.slots)
        yield from self.others

    def basis(self, at_ms: int) -> Basis:
        """What is believed of this moment if it waits for holders to end."""
        predicted = self.is_predicted & (self.end > PAST) & (self.end <= at_ms)
        return Basis.PREDICTION if predicted.any() else Basis.LIMITS


def duration_of(job: Job, runtimes: Runtimes) -> int:
    """How long an attempt of the job is believed to hold its devices; NEVER if nothing bounds it."""
    limit = _limit_of(job)
    if runtimes is Runtimes.LIMITS or job.predicted_ms is None:
        return max(limit, MOMENT_MS)
    return max(min(limit, job.predicted_ms), MOMENT_MS)


def end_of(job: Job, *, now_ms: int, runtimes: Runtimes) -> int:
    """When a job that holds devices is believed to give them back, later than now.

    A prediction that the job has outlived is worth nothing: it is expected to run as long again, and never
    beyond its limit.
    """
    if job.placed_at_ms is None:
        return NEVER
    begun = job.placed_at_ms
    end = begun + duration_of(job, runtimes)
    if end > now_ms:
        return min(end, NEVER)
    last = begun + _limit_of(job)
    return max(min(last, now_ms + now_ms - begun), now_ms + MOMENT_MS)


def gone_at(job: Job, *, now_ms: int) -> int:
    """When a job that was told to leave is gone: its grace counts from now, as nobody noted its order."""
    return now_ms + max(job.grace_ms, MOMENT_MS)


def is_predicted(job: Job, runtimes: Runtimes) -> bool:
    """Whether its prediction is what bounds it."""
    return runtimes is Runtimes.PREDICTIONS and job.predicted_ms is not None


def tenures_of(standing: Standing) -> Tenures:
    """Everything that is held, leaving or kept as things stand."""
    columns = standing.holdings.columns()
    runtimes, num_slots = standing.policy.runtimes, len(columns.queue)
    others = list(_others(standing))
    more = _Rows(standing, others, first_holder=num_slots)
    ends = np.where(standing.holdings.active(), _ends(columns, standing.now_ms, runtimes), PAST)
    predicted = (columns.predicted_ms < NO_LIMIT_MS) & (runtimes is Runtimes.PREDICTIONS)
    return Tenures(
        slots=standing.holdings.slots[:num_slots],
        others=tuple(job for job, _, _ in others),
        end=np.append(ends, np.array([end for _, _, end in others], dtype=np.int64)),
        is_predicted=np.append(predicted, np.zeros(len(others), dtype=np.bool_)),
        queue=np.concatenate([columns.queue, more.queue]),
        amount=np.concatenate([columns.amount, more.amount]),
        worker_holder=np.concatenate([columns.worker_slot, more.workers[0]]),
        worker_node=np.concatenate([columns.worker_node, more.workers[1]]),
        worker_cpus=np.concatenate([columns.worker_cpus, more.workers[2]]),
        worker_memory=np.concatenate([columns.worker_memory, more.workers[3]]),
        device_holder=np.concatenate([columns.device_slot, more.devices[0]]),
        device_node=np.concatenate([columns.device_node, more.devices[1]]),
        device_index=np.concatenate([columns.device_index, more.devices[2]]),
        device_milli=np.concatenate([columns.device_milli, more.devices[3]]),
    )


def leaving(standing: Standing) -> Iterator[tuple[Job, Placement]]:
    """Whoever was told to leave, before this plan or in it, with what they will give back."""
    for name in sorted(standing.books.leaving):
        yield standing.jobs[name], standing.books.leaving[name].placement
    for name in sorted(standing.evictions):
        yield standing.jobs[name], standing.jobs[name].placement
    for name in sorted(standing.resizes):
        job, stays = standing.jobs[name], Counter(standing.resizes[name].placement)
        yield job, tuple((Counter(job.placement) - stays).elements())


class _Rows:
    """The rows of holders that the books of holdings do not have."""

    def __init__(
        self, standing: Standing, others: list[tuple[Job, Placement, int]], *, first_holder: int
    ) -> None:
        index, width = standing.supply.index, standing.supply.width
        workers: list[tuple[int, ...]] = []
        devices: list[tuple[int, ...]] = []
        for holder, (job, placement, _) in enumerate(others, start=first_holder):
            shape = standing.requests[job.id].kind.shape
            for worker in placement:
                node = index.get(worker.node)
                if node is None:  # what it held there is gone with it
                    continue
                workers.append((holder, node, shape.cpus_milli, shape.memory_bytes))
                held = (device for device in worker.devices if 0 <= device < width)
                devices.extend((holder, node, device, shape.device_milli) for device in held)
        amounts = [len(placement) * job.accelerators_milli for job, placement, _ in others]
        self.queue = np.array([standing.queue_of(job) for job, _, _ in others], dtype=np.int64)
        self.amount = np.array(amounts, dtype=np.int64)
        self.workers = np.array(workers, dtype=np.int64).reshape(-1, 4).T
        self.devices = np.array(devices, dtype=np.int64).reshape(-1, 4).T


def _others(standing: Standing) -> Iterator[tuple[Job, Placement, int]]:
    """Whoever leaves, in whole or in part, and whoever devices are kept for."""
    last_gone = standing.now_ms
    for job, placement in leaving(standing):
        gone = gone_at(job, now_ms=standing.now_ms)
        last_gone = max(last_gone, gone)
        yield job, placement, gone
    for name in sorted(
        standing.keeps
    ):  # it starts when its victims are gone, at the latest with the last one
        job = standing.jobs[name]
        yield job, standing.keeps[name], min(last_gone + duration_of(job, standing.policy.runtimes), NEVER)


def _ends(columns: Columns, now_ms: int, runtimes: Runtimes) -> IntArray:
    """`end_of` for every slot; those that start in this plan begin now."""
    begun = np.where(columns.is_new, now_ms, columns.placed_at_ms)
    last = end = begun + columns.limit_ms
    if runtimes is Runtimes.PREDICTIONS:
        end = begun + np.minimum(columns.limit_ms, columns.predicted_ms)
    overdue = np.maximum(np.minimum(last, now_ms + now_ms - begun), now_ms + MOMENT_MS)
    return np.minimum(np.where(end > now_ms, end, overdue), NEVER)


def _limit_of(job: Job) -> int:
    return NEVER if job.max_runtime_ms is None else job.max_runtime_ms
