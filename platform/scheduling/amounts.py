"""Integer amounts: what one worker takes, what a gang asks of placement, what an eviction loses."""

from dataclasses import dataclass

from scheduling.model import LINK_LEVEL, Job

DEVICE_MILLI = 1000


@dataclass(frozen=True, slots=True)
class Shape:
    """What one worker takes: `num_devices` indices, `device_milli` of each of them, processors and memory."""

    num_devices: int
    device_milli: int
    cpus_milli: int
    memory_bytes: int

    @property
    def is_fraction(self) -> bool:
        """Whether it takes a part of one device, which it then shares."""
        return 0 < self.device_milli < DEVICE_MILLI


@dataclass(frozen=True, slots=True)
class Kind:
    """What decides where one worker may go: jobs of one kind fit in the same places."""

    shape: Shape
    types: tuple[str, ...]  # in order of preference; empty: any
    required: tuple[str, ...]  # levels: the whole gang inside one domain of each

    @property
    def is_typed(self) -> bool:
        """Whether the gang has to stay on one accelerator type: only those without accelerators need not."""
        return self.shape.num_devices > 0 or bool(self.types)


@dataclass(frozen=True, slots=True)
class Request:
    """A gang as placement sees it: `num_workers` of a kind, and the levels it would like to stay inside."""

    kind: Kind
    num_workers: int
    preferred: tuple[str, ...]


def shape_of(job: Job) -> Shape:
    """The shape of one worker. More than one device is always whole devices: a remainder takes one more."""
    return Shape(
        num_devices=-(-job.accelerators_milli // DEVICE_MILLI),
        device_milli=min(job.accelerators_milli, DEVICE_MILLI),
        cpus_milli=job.cpus_milli,
        memory_bytes=job.memory_bytes,
    )


def request_of(job: Job) -> Request:
    """What the job asks of placement. Without devices it lies in no link domain, so it cannot be asked to."""
    rules = [rule for rule in job.topology if job.accelerators_milli or rule.level != LINK_LEVEL]
    required = tuple(sorted({rule.level for rule in rules if not rule.preferred}))
    preferred = tuple(sorted({rule.level for rule in rules if rule.preferred}))
    return Request(Kind(shape_of(job), job.types, required), job.num_workers, preferred)


def held_milli(job: Job) -> int:
    """Accelerators that the job's placement holds, in milli-units."""
    return len(job.placement) * job.accelerators_milli


def lost_work(job: Job, *, now_ms: int) -> int:
    """What evicting the job now would lose, in device-milli x milliseconds.

    held x (now - last checkpoint of this run, or its start + restart cost). A job without accelerators counts
    as one thousandth of a device per worker, so that its work is not free.
    """
    if job.placed_at_ms is None:
        return 0
    saved_at_ms = max(job.placed_at_ms, job.saved_at_ms or 0)
    weight = held_milli(job) or len(job.placement)
    return weight * (max(now_ms - saved_at_ms, 0) + job.restart_cost_ms)
