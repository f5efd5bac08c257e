"""What the engine is told and what it answers: rows of a snapshot, a policy, a plan. Amounts are integers.

Accelerators and CPUs are milli-units, memory is bytes, times and durations are milliseconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType

NodeName = NewType("NodeName", str)
QueuePath = NewType("QueuePath", str)
JobId = NewType("JobId", str)

NODE_LEVEL = "node"
LINK_LEVEL = "link"


class JobPhase(StrEnum):
    """How far a job is, as far as placement is concerned."""

    WAITING = "waiting"
    PLACED = "placed"  # starting or running: holds devices, may be chosen as a victim
    LEAVING = "leaving"  # was told to stop: its devices are not free yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One worker's place: a node and the device indices on it (empty for a job without accelerators)."""

    node: NodeName
    devices: tuple[int, ...]


Placement = tuple[Worker, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A machine. `domains` maps each topology level from the widest (zone, spine, rack) to its domain there,
    and any other label to its value; `links` gives the link domain of each device (NVLink, HCCS): devices
    with equal names are joined.
    """

    name: NodeName
    domains: Mapping[str, str]
    accelerator_type: str
    num_devices: int
    links: tuple[str, ...]
    cpus_milli: int
    memory_bytes: int
    usable: bool = True  # healthy and not cordoned: may receive new work


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A node of the queue tree. Usage is derived from the jobs' placements, leaving ones included.

    Guarantee and limit are totals; `type_guarantees` and `type_limits` add to them one for each accelerator
    type named. `user_limit_milli` caps what each single user holds in the subtree. `past_milli` is the
    queue's own decayed past usage: milli-accelerators, averaged over the policy's half-life.
    """

    path: QueuePath
    parent: QueuePath | None = None
    guarantee_milli: int = 0
    limit_milli: int | None = None
    weight: int = 1
    type_guarantees: Mapping[str, int] = field(default_factory=dict)
    type_limits: Mapping[str, int] = field(default_factory=dict)
    user_limit_milli: int | None = None
    past_milli: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """An operator's maintenance window: from start to end nobody may hold these nodes."""

    name: str
    nodes: frozenset[NodeName]
    starts_at_ms: int
    ends_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyRule:
    """Keep the job inside one domain of `level`; a wish if `preferred`, else a condition."""

    level: str
    preferred: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Only nodes whose label has one of these values ("node": its name), say those that reach its data."""

    label: str
    values: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One gang. Amounts are per worker. `kept` are devices being freed for it; `placement` what it holds.

    Size: `num_workers` is what the user wants now. A rigid gang (`min_workers` None) has just that many or
    none; an elastic one any multiple of `step_workers` from `min_workers` to `num_workers`, or up to
    `max_workers` where the policy grows beyond what is wanted. `group_workers` consecutive ranks are a tensor
    group, which lies inside one link domain. `releasing` are places of workers told to leave in a shrink:
    held until they are gone. `num_missing` workers of a placed gang were lost and have to be replaced.

    Time: `predicted_ms` is the expected run time of an attempt, `max_runtime_ms` its limit.
    `attained_milli_ms` is the service of earlier attempts, in milli-accelerators x milliseconds. `speeds`
    gives measured speed by number of workers, in thousandths of one worker's; `remaining_ms` the work left,
    at the speed of one worker.
    """

    id: JobId
    queue: QueuePath
    priority: int
    submitted_at_ms: int
    num_workers: int
    accelerators_milli: int
    cpus_milli: int = 0
    memory_bytes: int = 0
    user: str = ""
    min_workers: int | None = None
    max_workers: int | None = None
    step_workers: int = 1
    group_workers: int = 1
    types: tuple[str, ...] = ()  # in order of preference; empty: any
    topology: tuple[TopologyRule, ...] = ()
    selectors: tuple[Selector, ...] = ()
    preemptible: bool = True
    grace_ms: int = 0
    depends_on: frozenset[JobId] = frozenset()  # waits as long as one of these is in the snapshot
    array: str = ""  # jobs of one array share its cap
    array_cap: int | None = None  # how many of the array may hold devices at once
    max_runtime_ms: int | None = None
    predicted_ms: int | None = None
    attained_milli_ms: int = 0
    speeds: tuple[tuple[int, int], ...] = ()
    remaining_ms: int | None = None
    phase: JobPhase = JobPhase.WAITING
    placement: Placement = ()
    releasing: Placement = ()
    num_missing: int = 0
    kept: Placement = ()
    placed_at_ms: int | None = None
    saved_at_ms: int | None = None  # its last whole checkpoint; what came after would be lost
    restart_cost_ms: int = 0

    @property
    def is_elastic(self) -> bool:
        """Whether it may have fewer or more workers than are wanted."""
        return self.min_workers is not None

    @property
    def least_workers(self) -> int:
        """The fewest workers with which it may start."""
        return self.num_workers if self.min_workers is None else min(self.min_workers, self.num_workers)

    @property
    def most_workers(self) -> int:
        """The most that it may ever have."""
        return self.num_workers if self.max_workers is None else max(self.max_workers, self.num_workers)

    @property
    def total_milli(self) -> int:
        """Accelerators of the gang at its least size, in milli-units: what it needs to start."""
        return self.least_workers * self.accelerators_milli


class ReasonCode(StrEnum):
    """Why a job has no devices; in order of precedence, the first that holds is given. Its params:

    - never_fits, fragmented, no_capacity: `free_milli`, `wanted_milli`, `workers`, `largest_workers` (the
      most that one allowed place holds; on the empty cluster for never_fits), `accelerators_milli`,
      `cpus_milli` and `memory_bytes` of one worker, `level` (the narrowest one required, or ""), `types`
      (joined by ", "), `queue`
    - waits_job: `job` (that has to end first), `num_jobs`
    - over_limit: `queue`, `limit_milli`, `wanted_milli`; `type` where the limit is one type's, `user` where
      it is a user's
    - limit_now: the same and `used_milli`, `claimed_milli` (for jobs whose devices are being freed)
    - array_cap: `array`, `cap`
    - waits_victims: `job` (a victim), `num_leaving`, `awaited_milli`
    - kept_for_other: `job` (the other), `kept_milli`, `free_milli`, `wanted_milli`, and `starts_at_ms` where
      it is a reservation (0: devices are being freed for the other)
    - in_order: `job` (the one ahead), `queue`
    - share: `queue`, `used_milli`, `guarantee_milli`, `other` (the queue that uses most), `free_milli`,
      `wanted_milli`
    """

    NEVER_FITS = "never_fits"  # not even on the empty, healthy cluster
    OVER_LIMIT = "over_limit"  # the request alone exceeds a limit of its queue or an ancestor
    WAITS_JOB = "waits_job"  # another job has to end first
    ARRAY_CAP = "array_cap"  # as many jobs of its array as may hold devices at once do so
    LIMIT_NOW = "limit_now"  # such a limit is used up at present
    WAITS_VICTIMS = "waits_victims"  # devices are being freed for it
    KEPT_FOR_OTHER = "kept_for_other"  # enough are free, but they are kept for another job
    IN_ORDER = "in_order"  # would fit, strict order forbids
    FRAGMENTED = "fragmented"  # enough are free in total, no allowed placement
    SHARE = "share"  # too few are free, and its share does not let it take any
    NO_CAPACITY = "no_capacity"  # too few are free


class Help(StrEnum):
    """What would help a waiting job. The edge has a sentence for each."""

    ASK_FOR_LESS = "ask_for_less"
    RELAX_TOPOLOGY = "relax_topology"  # without its required level it would fit
    ALLOW_MORE_TYPES = "allow_more_types"  # on other accelerator types it would fit
    RAISE_LIMIT = "raise_limit"  # or ask for less than the limit
    WAIT_FOR_QUEUE = "wait_for_queue"  # other jobs of the queue named have to end, or its limit be raised
    STARTS_WHEN_FREED = "starts_when_freed"  # nothing to do
    STARTS_AFTER_OTHER = "starts_after_other"  # the job named comes first
    SMALLER_WORKERS = "smaller_workers"  # with fewer devices in each worker it would fit sooner
    RAISE_GUARANTEE = "raise_guarantee"  # or wait until the others end
    WAIT_FOR_DEVICES = "wait_for_devices"  # running jobs have to end
    WAIT_FOR_JOB = "wait_for_job"  # the job named has to end
    SHORTER_LIMIT = "shorter_limit"  # if its limit ended before the other starts, it would start now


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A code, its numbers (JSON-ready, named for the sentence that shows them), and what would help."""

    code: ReasonCode
    params: Mapping[str, int | str] = field(default_factory=dict)
    help: Help = Help.WAIT_FOR_DEVICES


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Start this job now on exactly these devices, on this accelerator type."""

    job: JobId
    placement: Placement
    accelerator_type: str


class EvictionKind(StrEnum):
    """By which right a job is evicted."""

    PREEMPT = "preempt"  # inside one queue, strictly lower priority
    RECLAIM = "reclaim"  # between queues, from usage above the guarantee
    INCOMPLETE = "incomplete"  # it lost workers that cannot be replaced; the beneficiary is the job itself
    MAINTENANCE = "maintenance"  # a window begins; the beneficiary is the job itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Evict:
    """Tell this job to save and leave, so that `beneficiary` can start."""

    job: JobId
    beneficiary: JobId
    kind: EvictionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Keep these devices for a job until it starts or is withdrawn: being freed for it, or needed beside."""

    job: JobId
    placement: Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize:
    """Change a running elastic gang to these workers. Those that leave hold their devices until they are
    gone. `beneficiary`: the waiting job that a shrink makes room for.
    """

    job: JobId
    placement: Placement
    beneficiary: JobId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Replace the missing workers of a running gang: the whole placement, those that stay included."""

    job: JobId
    placement: Placement


class Basis(StrEnum):
    """What an expected time rests on."""

    LIMITS = "limits"  # run time limits, which are enforced
    PREDICTION = "prediction"
    UNKNOWN = "unknown"  # somebody in the way has neither


@dataclass(frozen=True, slots=True, kw_only=True)
class Eta:
    """When a waiting job is expected to start; None where nothing bounds the wait."""

    at_ms: int | None
    basis: Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A future start at a place: nobody behind may delay it."""

    job: JobId
    placement: Placement
    accelerator_type: str
    starts_at_ms: int
    basis: Basis


class Order(StrEnum):
    """Who comes first between queues, and inside one."""

    FAIR_SHARE = "fair_share"
    STRICT_FIFO = "strict_fifo"
    LEAST_ATTAINED = "least_attained"  # fair share; of equal priority, whoever got least service comes first
    SHORTEST_REMAINING = "shortest_remaining"  # the same by predicted remaining service


class Packing(StrEnum):
    """Which of the places that fit is taken."""

    CONSOLIDATE = "consolidate"
    SPREAD = "spread"
    FRAGMENTATION = "fragmentation"  # where the expected fragmentation grows least


class Runtimes(StrEnum):
    """What is believed about when a job ends."""

    LIMITS = "limits"  # the limit alone
    PREDICTIONS = "predictions"  # the prediction, never beyond the limit


class Growth(StrEnum):
    """How far idle devices make elastic jobs grow."""

    WANTED = "wanted"  # up to what their users want now
    MOST = "most"  # up to the most that they may have, where the marginal gain is highest
    BALANCED = "balanced"  # the same, and equals give way to whom their surplus is worth more


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How to decide. Stored with each plan, so that the plan can be replayed. The default is neutral."""

    order: Order = Order.FAIR_SHARE
    packing: Packing = Packing.CONSOLIDATE
    min_runtime_ms: int = 0  # a job that runs for less is not preempted (reclaim is not bound by it)
    num_reservations: int = 0  # how many of the first jobs that cannot start get a place and a time
    runtimes: Runtimes = Runtimes.LIMITS
    growth: Growth = Growth.WANTED
    shares_surplus: bool = False  # surplus of elastic jobs gives way to waiting jobs of equal priority
    preempts: bool = True  # inside a queue; reclaim does not depend on it
    max_evictions: int | None = None  # planned in one pass
    service_quantum_milli_ms: int = 300_000_000  # least attained: level 1 begins here, each next at double
    damps_size: bool = False  # least attained: counts service by the square root of a gang's devices
    ageing_percent: int = 0  # shortest remaining: of the time waited, that is taken off the run time
    takes_later_type: bool = True  # by eviction, before a type named earlier is waited for
    explains: bool = True  # each job that waits; a replay decides faster without


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do now, and one reason for each job that waits afterwards. Everything in canonical order.

    `keeps` is the whole list: a waiting job that is not in it keeps nothing from now on. `gave_way`: jobs
    that would have started in this plan, had not another one had a better right to the devices; they counted
    as running then. `reservations` are not carried out: they say what was planned around. `etas` has every
    job that waits.
    """

    starts: tuple[Start, ...] = ()
    evictions: tuple[Evict, ...] = ()
    resizes: tuple[Resize, ...] = ()
    repairs: tuple[Repair, ...] = ()
    keeps: tuple[Keep, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    reasons: Mapping[JobId, Reason] = field(default_factory=dict)
    etas: Mapping[JobId, Eta] = field(default_factory=dict)
    gave_way: tuple[JobId, ...] = ()
    policy: Policy = Policy()
