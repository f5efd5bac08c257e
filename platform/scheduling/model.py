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
    """A machine. `domains` maps each topology level from the widest (zone, spine, rack) to its domain there;
    `links` gives the link domain of each device (NVLink, HCCS): devices with equal names are joined.
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
    """A node of the queue tree. Usage is derived from the jobs' placements, leaving ones included."""

    path: QueuePath
    parent: QueuePath | None = None
    guarantee_milli: int = 0
    limit_milli: int | None = None
    weight: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyRule:
    """Keep the job inside one domain of `level`; a wish if `preferred`, else a condition."""

    level: str
    preferred: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One gang. Amounts are per worker. `kept` are devices being freed for it; `placement` what it holds."""

    id: JobId
    queue: QueuePath
    priority: int
    submitted_at_ms: int
    num_workers: int
    accelerators_milli: int
    cpus_milli: int = 0
    memory_bytes: int = 0
    types: tuple[str, ...] = ()  # in order of preference; empty: any
    topology: tuple[TopologyRule, ...] = ()
    preemptible: bool = True
    grace_ms: int = 0
    max_runtime_ms: int | None = None
    phase: JobPhase = JobPhase.WAITING
    placement: Placement = ()
    kept: Placement = ()
    placed_at_ms: int | None = None
    saved_at_ms: int | None = None  # its last whole checkpoint; what came after would be lost
    restart_cost_ms: int = 0

    @property
    def total_milli(self) -> int:
        """Accelerators of the whole gang, in milli-units."""
        return self.num_workers * self.accelerators_milli


class ReasonCode(StrEnum):
    """Why a job has no devices; in order of precedence, the first that holds is given. Its params:

    - never_fits, fragmented, no_capacity: `free_milli`, `wanted_milli`, `workers`, `largest_workers` (the
      most that one allowed place holds; on the empty cluster for never_fits), `accelerators_milli`,
      `cpus_milli` and `memory_bytes` of one worker, `level` (the narrowest one required, or ""), `types`
      (joined by ", "), `queue`
    - over_limit: `queue`, `limit_milli`, `wanted_milli`
    - limit_now: the same and `used_milli`, `claimed_milli` (for jobs whose devices are being freed)
    - waits_victims: `job` (a victim), `num_leaving`, `awaited_milli`
    - kept_for_other: `job` (the other), `kept_milli`, `free_milli`, `wanted_milli`
    - in_order: `job` (the one ahead), `queue`
    - share: `queue`, `used_milli`, `guarantee_milli`, `other` (the queue that uses most), `free_milli`,
      `wanted_milli`
    """

    NEVER_FITS = "never_fits"  # not even on the empty, healthy cluster
    OVER_LIMIT = "over_limit"  # the request alone exceeds a limit of its queue or an ancestor
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


class Order(StrEnum):
    """Who comes first between queues."""

    FAIR_SHARE = "fair_share"
    STRICT_FIFO = "strict_fifo"


class Packing(StrEnum):
    """Which of the places that fit is taken."""

    CONSOLIDATE = "consolidate"
    SPREAD = "spread"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How to decide. Stored with each plan, so that the plan can be replayed."""

    order: Order = Order.FAIR_SHARE
    packing: Packing = Packing.CONSOLIDATE
    min_runtime_ms: int = 0  # a job that runs for less is not preempted (reclaim is not bound by it)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do now, and one reason for each job that waits afterwards. Everything in canonical order.

    `keeps` is the whole list: a waiting job that is not in it keeps nothing from now on. `gave_way`: jobs
    that would have started in this plan, had not another one had a better right to the devices; they counted
    as running then.
    """

    starts: tuple[Start, ...] = ()
    evictions: tuple[Evict, ...] = ()
    keeps: tuple[Keep, ...] = ()
    reasons: Mapping[JobId, Reason] = field(default_factory=dict)
    gave_way: tuple[JobId, ...] = ()
    policy: Policy = Policy()
