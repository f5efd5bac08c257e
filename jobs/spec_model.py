"""What a job file says, as values: the spec's parts their defaults, and the numbers that bound them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

PRIORITIES: Mapping[str, int] = {"low": 100, "normal": 200, "high": 300, "urgent": 400}
MAX_PRIORITY = 1000
MAX_NAME_LENGTH = 120
MAX_WORKERS = 16_384
MAX_ACCELERATORS = 1_024  # per worker
MAX_CPUS_MILLI = 1_024_000
MAX_MEMORY_BYTES = 2**50
MAX_COMMAND_LENGTH = 16_000
MAX_GRACE_SECONDS = 3_600
MAX_SECONDS = 366 * 86_400
MAX_VARIABLES = 200
MAX_DEPENDENCIES = 100
MAX_ARRAY_KEYS = 8
MAX_ARRAY_SIZE = 1_000

ArrayValue = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What one worker gets; `types` in order of preference, empty for any."""

    accelerators_milli: int = 1000
    types: tuple[str, ...] = ()
    cpus_milli: int = 0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """How many workers are wanted now; an elastic gang also runs with anything from `least` to `most`."""

    want: int = 1
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallelism:
    """How a program divides its model, in workers; `data` None: whatever the gang's size gives."""

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    context: int = 1
    data: int | None = None
    zero: int = 0

    @property
    def model_workers(self) -> int:
        """The workers that hold one copy of the model together."""
        return self.tensor * self.pipeline * self.context

    @property
    def step_workers(self) -> int:
        """What the gang's size has to be a multiple of: copies stay whole, expert groups too."""
        return self.model_workers * self.expert


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Keep the gang inside one domain of this level; a wish if `preferred`, else a condition."""

    within: str
    preferred: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRule:
    """How often to save (`auto`, `<n> steps` or `<n>s`), how many to keep, and one to start from."""

    every: str = "auto"
    keep: int = 3
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of one attempt's run time, of its grace when told to stop, and of the repeats after failures."""

    max_runtime_seconds: int | None = None
    grace_seconds: int = 60
    retries: int = 0
    node_retries: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """One job as asked for. Exactly one of `command` and `recipe` is set; amounts are per worker."""

    name: str
    queue: str | None = None
    priority: int = PRIORITIES["normal"]
    workers: Workers = field(default_factory=Workers)
    resources: Resources = field(default_factory=Resources)
    parallelism: Parallelism | None = None
    topology: Topology | None = None  # of the whole gang
    tensor_topology: Topology | None = None  # of each tensor group
    code: str | None = None
    command: str | None = None
    recipe: str | None = None
    params: Mapping[str, object] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    checkpoint: CheckpointRule = field(default_factory=CheckpointRule)
    limits: Limits = field(default_factory=Limits)
    depends_on: tuple[str, ...] = ()
    array: Mapping[str, tuple[ArrayValue, ...]] = field(default_factory=dict)
    concurrent: int | None = None  # how many jobs of the array may hold devices at once

    @property
    def group_workers(self) -> int:
        """Consecutive ranks that have to lie in one link domain: a tensor group, unless that is a wish."""
        is_wish = self.tensor_topology is not None and self.tensor_topology.preferred
        return 1 if self.parallelism is None or is_wish else self.parallelism.tensor
