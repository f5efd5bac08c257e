"""What a made-up job asks for beyond devices: elastic sizes, tensor groups, parts of a device, capped arrays,
selectors, and run times that somebody predicts.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from scheduling.model import Job, JobPhase, Selector, Worker

NODE_DEVICES = 8
ELASTIC, GROUPED, FRACTION, IN_ARRAY, SELECTS, PREDICTED = 0.1, 0.1, 0.03, 0.05, 0.05, 0.5
NUM_ARRAYS, ARRAY_CAP = 20, 40
ZONES = frozenset({"z000", "z001"})


def with_extras(job: Job, random: np.random.Generator) -> Job:
    """The job with some of them, drawn. One that runs keeps its devices and its place."""
    job = _sized(job, random)
    if random.random() < IN_ARRAY and job.num_workers == 1:
        job = replace(job, array=f"a{int(random.integers(NUM_ARRAYS)):02d}", array_cap=ARRAY_CAP)
    if random.random() < SELECTS and job.phase is JobPhase.WAITING:
        job = replace(job, selectors=(Selector(label="zone", values=ZONES),))
    if random.random() < PREDICTED and job.max_runtime_ms is not None:
        job = replace(job, predicted_ms=int(job.max_runtime_ms * random.uniform(0.3, 0.9)))
    return job


def extras_in(jobs: Iterable[Job]) -> str:
    """How many there are of each, for the line beside a figure."""
    found: Counter[str] = Counter()
    for job in jobs:
        found["elastic"] += job.is_elastic
        found["in tensor groups"] += job.group_workers > 1
        found["parts of a device"] += 0 < job.accelerators_milli < 1000
        found["in capped arrays"] += job.array_cap is not None
        found["with selectors"] += bool(job.selectors)
        found["predicted"] += job.predicted_ms is not None
    return ", ".join(f"{number} {name}" for name, number in found.items())


def _sized(job: Job, random: np.random.Generator) -> Job:
    """Elastic, in groups or a part of a device: at most one of these."""
    drawn, devices = random.random(), job.accelerators_milli // 1000
    if job.num_workers == 1 and devices == 1 and drawn < ELASTIC + FRACTION:
        return _elastic(job) if drawn < ELASTIC else replace(job, accelerators_milli=500)
    if drawn < ELASTIC:
        return _elastic(job)
    size = int(random.choice((2, 4)))
    if drawn < ELASTIC + GROUPED and job.num_workers % size == 0:
        return _grouped(job, size)
    return job


def _elastic(job: Job) -> Job:
    """From half of what it wants to double."""
    least = max(job.num_workers // 2, 1)
    speeds = tuple((num, round(1000 * num**0.8)) for num in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024))
    return replace(job, min_workers=least, max_workers=2 * job.num_workers, speeds=speeds)


def _grouped(job: Job, size: int) -> Job:
    """Groups fit on one node: where the workers are too large, each is split into a group on its node, or as
    many smaller ones wait.
    """
    if job.accelerators_milli * size <= NODE_DEVICES * 1000:
        return job if job.placement else replace(job, group_workers=size)
    small = replace(
        job,
        group_workers=size,
        accelerators_milli=job.accelerators_milli // size,
        cpus_milli=job.cpus_milli // size,
        memory_bytes=job.memory_bytes // size,
    )
    placement = tuple(part for worker in job.placement for part in _parts(worker, size))
    return replace(small, num_workers=len(placement), placement=placement) if placement else small


def _parts(worker: Worker, size: int) -> list[Worker]:
    width = len(worker.devices) // size
    return [
        replace(worker, devices=worker.devices[first : first + width])
        for first in range(0, width * size, width)
    ]
