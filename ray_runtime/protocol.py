"""The words that portal and cluster share: orders down, reports and streams up. Standard library only.

Everything crosses as JSON over HTTP; `to_json`/`from_json` of each class are exact inverses.
"""

import dataclasses
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

VERSION = 1

# Paths below the portal's public URL. The first four take the conductor's token, the rest the attempt's own.
EPOCH_PATH = "/runtime/v1/epoch"  # POST {incarnation} -> Takeover; older conductors are fenced from now on
ORDERS_PATH = "/runtime/v1/orders"  # GET ?epoch&wait -> {orders: [...]}; POST {epoch, done: [order id, ...]}
REPORTS_PATH = "/runtime/v1/reports"  # POST {epoch, incarnation, reports: [...]} -> {acked: seq}
INVENTORY_PATH = "/runtime/v1/inventory"  # POST Inventory: nodes and attempts as the conductor sees them now
STREAM_PATH = "/runtime/v1/attempts/{attempt_id}/streams/{name}"  # POST raw ?offset&final -> {size}; gap: 409
OUTPUT_PATH = "/runtime/v1/attempts/{attempt_id}/outputs"  # PUT raw ?path&sha256
CODE_PATH = "/runtime/v1/attempts/{attempt_id}/code"  # GET: the job's code archive (tar.gz)


PEER_LOST_EXIT = 75  # a worker leaves with it when a collective broke: a peer is lost, it is not to blame


class OrderKind(StrEnum):
    """What the portal may ask of the conductor."""

    LAUNCH = "launch"
    STOP = "stop"


class StopIntent(StrEnum):
    """Why an attempt is to stop; decides what the portal does with the job afterwards."""

    CANCEL = "cancel"
    PREEMPT = "preempt"
    HOLD = "hold"
    FAIL = "fail"
    FINISH = "finish"


class ReportKind(StrEnum):
    """What the conductor may tell of an attempt, in this order; `ENDED` is always the last."""

    FORMING = "forming"  # the placement group stands, workers are being started
    RUNNING = "running"  # every worker of the gang has been started
    STOPPING = "stopping"  # a stop order was passed on to every worker
    ENDED = "ended"  # no process of the attempt is alive any more and its devices are free


class EndCause(StrEnum):
    """Why an attempt ended, as the cluster knows it; what becomes of the job is the portal's decision."""

    COMPLETED = "completed"  # every worker left with exit code 0, or the program said that it is finished
    PROGRAM_FAILED = "program_failed"  # a worker left with another code or by a signal that was not ours
    START_FAILED = "start_failed"  # the code, the folder or the command could not be used: the user's to mend
    STOPPED = "stopped"  # a stop order was carried out
    NODE_LOST = "node_lost"  # a node of the gang is gone
    AGENT_LOST = "agent_lost"  # a node's agent died and took its workers along; the node itself is there
    PLACEMENT_FAILED = "placement_failed"  # the group could not be reserved in time; `node` says where
    UNKNOWN = "unknown"  # the conductor has no trace of it (after a total loss): safe to launch again


class Wire:
    """Plain JSON form for frozen dataclasses; nested ones name their class in field metadata."""

    def to_json(self) -> dict[str, Any]:
        """The object as JSON-ready built-ins (tuples become lists)."""
        return _plain(dataclasses.asdict(self))  # type: ignore[call-overload,no-any-return]  # every subclass is a dataclass

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`; unknown keys are ignored, missing ones raise `TypeError`."""
        fields = dataclasses.fields(cls)  # type: ignore[arg-type]  # every subclass is a dataclass
        return cls(**{f.name: _decode(f.metadata, data[f.name]) for f in fields if f.name in data})


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, StrEnum) else value


def _decode(metadata: Mapping[str, Any], value: Any) -> Any:
    if value is None:
        return None
    if "each" in metadata:
        return tuple(metadata["each"](item) for item in value)
    return metadata["one"](value) if "one" in metadata else value


def _ints(values: list[int]) -> tuple[int, ...]:
    return tuple(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSlot(Wire):
    """Where one worker of a gang runs: its global rank, the node's stable name, and device indices on it."""

    rank: int
    node: str
    devices: tuple[int, ...] = field(metadata={"one": _ints})


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec(Wire):
    """All that the cluster needs to run one attempt of a job. Amounts are per worker.

    Exactly one of `command` (a shell line) and `recipe` (a name, with `params`) is set.
    """

    job_id: str
    job_name: str
    attempt_id: str
    attempt_number: int
    token: str
    workers: tuple[WorkerSlot, ...] = field(metadata={"each": WorkerSlot.from_json})
    accelerators_milli: int
    accelerator_type: str
    cpus_milli: int
    memory_bytes: int
    command: str | None = None
    recipe: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    code_sha256: str | None = None
    checkpoint_dir: str
    checkpoint_every: str = "auto"  # "<n> steps", "<n>s" or "auto"
    checkpoint_keep: int = 3
    resume_from: str | None = None  # a checkpoint folder to start from when the job has none of its own yet
    grace_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StopOrder(Wire):
    """Stop an attempt: SIGTERM now, SIGKILL to whatever is left `grace_seconds` later."""

    intent: StopIntent = field(metadata={"one": StopIntent})
    grace_seconds: float
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(Wire):
    """One row of the outbox on its way down, delivered at least once.

    `id` and `attempt_id` make repeats harmless.
    """

    id: int
    kind: OrderKind = field(metadata={"one": OrderKind})
    attempt_id: str
    payload: Mapping[str, Any]  # LaunchSpec or StopOrder as JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Wire):
    """One thing that happened to an attempt.

    `(incarnation, seq)` is its identity; `seq` counts from 1 without gaps.
    """

    seq: int
    kind: ReportKind = field(metadata={"one": ReportKind})
    job_id: str
    attempt_id: str
    at_ms: int
    cause: EndCause | None = field(default=None, metadata={"one": EndCause})
    exit_code: int | None = None  # negative: ended by that signal
    rank: int | None = None  # the first worker that failed
    node: str | None = None
    message: str = ""
    last_lines: tuple[str, ...] = field(default=(), metadata={"one": tuple})
    finished: bool = False  # a worker said that its work is complete, whatever order was under way


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover(Wire):
    """The portal's answer to a new conductor: its epoch, and the attempts that the portal holds to be live.

    `reported` names the last kind of report stored for each of them, so that a rebuilt conductor repeats
    none; an attempt that is not in it counts as never reported, and repeats must then be harmless.
    """

    epoch: int
    attempts: tuple[LaunchSpec, ...] = field(metadata={"each": LaunchSpec.from_json})
    reported: Mapping[str, str] = field(default_factory=dict)  # attempt id -> ReportKind


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport(Wire):
    """One Ray node as the conductor sees it."""

    name: str  # label gangline.node, stable over restarts
    ray_node_id: str
    address: str
    alive: bool  # Ray says so, and its agent has answered lately
    labels: Mapping[str, str]
    accelerator_type: str  # label gangline.accelerator; "slot" where nodes have none and count slots
    num_accelerators: int
    cpus_milli: int
    memory_bytes: int
    problem: str = ""  # why it is not alive or not well, in one line
    metrics: Mapping[str, float] = field(default_factory=dict)  # cpu_percent, memory_used_bytes, ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory(Wire):
    """The conductor's heartbeat, every second: the nodes, and its attempts with their gang states."""

    epoch: int
    incarnation: str
    at_ms: int
    nodes: tuple[NodeReport, ...] = field(metadata={"each": NodeReport.from_json})
    attempts: Mapping[str, str]
    rebuilt: bool = True  # False while the table after a restart is incomplete: absence means nothing then


class StreamKind(StrEnum):
    """A worker's two byte streams; a stream's name is `rank-<rank>.<kind>`."""

    LOG = "log"  # stdout and stderr as written
    EVENTS = "events"  # JSON lines of `reporter`


class WorkerEvent(StrEnum):
    """`kind` of a line in an events stream. Each line also has `at_ms` and `step` (steps completed)."""

    STARTED = "started"  # total_steps, resumed_from (step or null), world_size
    METRICS = "metrics"  # values: {name: number}; loss, tokens_per_second, step_seconds, mfu, ...
    CHECKPOINT = "checkpoint"  # path, size_bytes, seconds, stall_seconds: a whole checkpoint was committed
    DAMAGED = "damaged"  # path, why: a checkpoint was found damaged and passed over
    FINISHED = "finished"  # the program's work is complete


def stream_name(rank: int, kind: StreamKind) -> str:
    """The name of one worker's stream in `STREAM_PATH`."""
    return f"rank-{rank}.{kind}"


def attempt_token(secret: str, attempt_id: str) -> str:
    """The token that opens exactly one attempt's paths; derived by HMAC (RFC 2104), so nothing is stored."""
    return hmac.new(secret.encode(), f"attempt:{attempt_id}".encode(), hashlib.sha256).hexdigest()
