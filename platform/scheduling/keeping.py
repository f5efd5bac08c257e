"""Devices that are kept for a job: whether that is still possible, and whether the job can start by now."""

from collections.abc import Iterable

from scheduling.amounts import shape_of
from scheduling.backfill import Backfill
from scheduling.model import Job, Worker
from scheduling.placement import Place
from scheduling.standing import Standing


def renew_keeps(standing: Standing, backfill: Backfill) -> list[Job]:
    """Goes on keeping what can still be kept, in order of turn. Returns the jobs concerned.

    These jobs come before all others: that they start was decided when devices were freed for them. What can
    no longer be kept for a job is withdrawn, and it is planned anew.
    """
    kept = sorted((job for job in standing.waiting() if job.kept), key=standing.ranking.turn_of)
    for job in kept:
        is_possible = _still_possible(standing, job) and backfill.is_open(job, job.kept)
        if is_possible and not standing.is_barred(job):
            standing.keep(job, job.kept)
    return kept


def start_kept(standing: Standing, backfill: Backfill, kept: Iterable[Job]) -> None:
    """Starts the jobs that can start, in the same order: where devices are kept, or elsewhere if that is
    sooner.
    """
    for job in kept:
        if job.id in standing.keeps:
            _start_if_possible(standing, backfill, job)


def _still_possible(standing: Standing, job: Job) -> bool:
    request = standing.requests[job.id]
    if len(job.kept) != request.num_workers or not all(
        is_whole(standing, job, worker) for worker in job.kept
    ):
        return False
    if standing.placer.type_on(job.kept, request.kind) is None:
        return False
    if standing.tree.limits_later(standing.queue_of(job), job.total_milli):
        return False
    if not standing.may_claim(job, job.kept, ()):
        return False
    return standing.later.has(standing.footprint(job, job.kept))


def is_whole(standing: Standing, job: Job, worker: Worker) -> bool:
    """Whether the node is usable and has all those devices."""
    node = standing.supply.index.get(worker.node)
    if node is None or not standing.real.open[node]:
        return False
    num_devices = int(standing.supply.num_devices[node])
    present = {device for device in worker.devices if 0 <= device < num_devices}
    return len(worker.devices) == len(present) == shape_of(job).num_devices


def _start_if_possible(standing: Standing, backfill: Backfill, job: Job) -> None:
    placement = standing.keeps[job.id]
    standing.drop_keep(job)
    place = _place(standing, backfill, job)
    if place is None or not standing.can_start_at(job, place):
        standing.keep(job, placement)
    else:
        standing.start(job, place)


def _place(standing: Standing, backfill: Backfill, job: Job) -> Place | None:
    """The place kept for it once that is free; before that, any other that is."""
    request = standing.requests[job.id]
    if not standing.now.has(standing.footprint(job, job.kept)):
        return standing.placer.place(backfill.open_for(job), request)
    accelerator_type = standing.placer.type_on(job.kept, request.kind)
    return None if accelerator_type is None else Place(job.kept, accelerator_type)
