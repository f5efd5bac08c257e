"""Integer amounts: what one worker takes, what a gang asks of placement, what an eviction loses."""

from dataclasses import dataclass, field
from functools import lru_cache

from scheduling.model import LINK_LEVEL, Job, Selector

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
    """What decides where one worker may go: jobs of one kind fit in the same places. Made by `request_of`,
    which gives equal kinds the same object, so that looking one up costs no comparison.
    """

    shape: Shape
    types: tuple[str, ...] = ()  # in order of preference; empty: any
    required: tuple[str, ...] = ()  # levels: the whole gang inside one domain of each
    selectors: tuple[Selector, ...] = ()
    group_workers: int = 1  # consecutive ranks that share one link domain
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Hashed once: kinds are keys of every table."""
        key = (self.shape, self.types, self.required, self.selectors, self.group_workers)
        object.__setattr__(self, "_hash", hash(key))

    def __hash__(self) -> int:
        return self._hash

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


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """What one job asks for and who pays: who asks for the same in the same queue (and, where users are
    capped, for the same user) is treated alike, and has the same Ask.
    """

    queue: int  # by number in the tree
    request: Request
    total_milli: int
    user: str


def shape_of(job: Job) -> Shape:
    """The shape of one worker. More than one device is always whole devices: a remainder takes one more."""
    return _shape(job.accelerators_milli, job.cpus_milli, job.memory_bytes)


def request_of(job: Job) -> Request:
    """What the job asks of placement to start: its least size.

    Without devices it lies in no link domain, so it cannot be asked to, and its ranks form no tensor groups.
    A group that does not divide the gang cannot be meant.
    """
    group = job.group_workers if job.accelerators_milli and job.least_workers % job.group_workers == 0 else 1
    topology = tuple((rule.level, rule.preferred) for rule in job.topology)
    return _request(shape_of(job), job.types, topology, job.selectors, (group, job.least_workers))


@lru_cache(maxsize=1 << 16)
def _shape(accelerators_milli: int, cpus_milli: int, memory_bytes: int) -> Shape:
    return Shape(
        num_devices=-(-accelerators_milli // DEVICE_MILLI),
        device_milli=min(accelerators_milli, DEVICE_MILLI),
        cpus_milli=cpus_milli,
        memory_bytes=memory_bytes,
    )


@lru_cache(maxsize=1 << 16)
def _request(
    shape: Shape,
    types: tuple[str, ...],
    topology: tuple[tuple[str, bool], ...],
    selectors: tuple[Selector, ...],
    sizes: tuple[int, int],
) -> Request:
    group_workers, num_workers = sizes
    rules = [(level, wished) for level, wished in topology if shape.num_devices or level != LINK_LEVEL]
    required = tuple(sorted({level for level, wished in rules if not wished}))
    preferred = tuple(sorted({level for level, wished in rules if wished}))
    return Request(kind_of(shape, types, required, selectors, group_workers), num_workers, preferred)


@lru_cache(maxsize=1 << 16)
def kind_of(
    shape: Shape,
    types: tuple[str, ...],
    required: tuple[str, ...],
    selectors: tuple[Selector, ...] = (),
    group_workers: int = 1,
) -> Kind:
    """The one object for this kind."""
    return Kind(shape, types, required, selectors, group_workers)


def held_milli(job: Job) -> int:
    """Accelerators that the job holds, in milli-units, workers that are leaving it included."""
    return (len(job.placement) + len(job.releasing)) * job.accelerators_milli
