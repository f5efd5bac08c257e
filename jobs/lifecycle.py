"""A job's life as data: the states, what moves them, why, and the one table of edges. Pure.

`services/transition.py` is the only code that writes a state, and it asks this table first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from ray_runtime.protocol import EndCause, StopIntent


class State(StrEnum):
    """The eight states. Everything finer (preempted, node lost, over its time) is a `Cause`, not a state."""

    # Waits for devices. No live attempt, nothing held in the ledger; `reason` says why it still waits.
    QUEUED = "queued"
    # Set aside by a person: as queued, but never looked at by the engine until it is released.
    HELD = "held"
    # Devices are held and a launch order is written; one live attempt. Not every worker has been started yet.
    STARTING = "starting"
    # As starting, and every worker of the gang has been started.
    RUNNING = "running"
    # A stop order with an `intent` is written. The attempt lives, its devices stay held until free.
    STOPPING = "stopping"
    # Terminal, as are the next two: `finished_at` is set, no live attempt, nothing held, never left again.
    SUCCEEDED = "succeeded"
    # The program, the platform or a limit ended it; `cause` and the last attempt say which.
    FAILED = "failed"
    # A person ended it, whatever the program answered.
    CANCELLED = "cancelled"


class Trigger(StrEnum):
    """What moves a job along an edge."""

    PLACE = "place"  # the engine gives it devices
    START = "start"  # the cluster reports that the whole gang runs
    STOP = "stop"  # it is told to leave, with an intent
    HOLD = "hold"  # a person sets a waiting job aside
    RELEASE = "release"  # a person puts it back
    REQUEUE = "requeue"  # its attempt ended, it waits again
    PARK = "park"  # its attempt ended, it was to be held
    COMPLETE = "complete"
    FAIL = "fail"
    CANCEL = "cancel"


class Cause(StrEnum):
    """Why a job is in its state. The ends that the cluster reports keep the names of `protocol.EndCause`."""

    SUBMITTED = "submitted"
    PLACED = "placed"
    STARTED = "started"
    USER_CANCELLED = "user_cancelled"
    USER_HELD = "user_held"
    USER_RELEASED = "user_released"
    PREEMPTED = "preempted"
    RECLAIMED = "reclaimed"
    INCOMPLETE = "incomplete"
    MAINTENANCE = "maintenance"
    RESIZED = "resized"
    DEPENDENCY_FAILED = "dependency_failed"
    TIME_LIMIT = "time_limit"
    COMPLETED = "completed"
    PROGRAM_FAILED = "program_failed"
    START_FAILED = "start_failed"
    STOPPED = "stopped"
    NODE_LOST = "node_lost"
    AGENT_LOST = "agent_lost"
    PLACEMENT_FAILED = "placement_failed"
    UNKNOWN = "unknown"


TERMINAL = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED})
PLACED = frozenset({State.STARTING, State.RUNNING, State.STOPPING})
WAITING = frozenset({State.QUEUED, State.HELD})

TABLE: Mapping[tuple[State, Trigger], State] = MappingProxyType(
    {
        (State.QUEUED, Trigger.PLACE): State.STARTING,
        (State.QUEUED, Trigger.HOLD): State.HELD,
        (State.QUEUED, Trigger.FAIL): State.FAILED,
        (State.QUEUED, Trigger.CANCEL): State.CANCELLED,
        (State.HELD, Trigger.RELEASE): State.QUEUED,
        (State.HELD, Trigger.CANCEL): State.CANCELLED,
        (State.STARTING, Trigger.START): State.RUNNING,
        (State.STARTING, Trigger.STOP): State.STOPPING,
        (State.STARTING, Trigger.REQUEUE): State.QUEUED,
        (State.STARTING, Trigger.COMPLETE): State.SUCCEEDED,
        (State.STARTING, Trigger.FAIL): State.FAILED,
        (State.RUNNING, Trigger.STOP): State.STOPPING,
        (State.RUNNING, Trigger.REQUEUE): State.QUEUED,
        (State.RUNNING, Trigger.COMPLETE): State.SUCCEEDED,
        (State.RUNNING, Trigger.FAIL): State.FAILED,
        (State.STOPPING, Trigger.STOP): State.STOPPING,  # only to a stronger intent: see `escalates`
        (State.STOPPING, Trigger.REQUEUE): State.QUEUED,
        (State.STOPPING, Trigger.PARK): State.HELD,
        (State.STOPPING, Trigger.COMPLETE): State.SUCCEEDED,
        (State.STOPPING, Trigger.FAIL): State.FAILED,
        (State.STOPPING, Trigger.CANCEL): State.CANCELLED,
    }
)


def next_state(state: State, trigger: Trigger) -> State | None:
    """Where the edge leads, or None where there is none."""
    return TABLE.get((state, trigger))


# An intent may only grow: a job that is to be cancelled is not preempted instead, whoever asks later.
_STRENGTH = {
    StopIntent.PREEMPT: 0,
    StopIntent.HOLD: 1,
    StopIntent.FAIL: 2,
    StopIntent.FINISH: 2,
    StopIntent.CANCEL: 3,
}


def escalates(current: StopIntent, wanted: StopIntent) -> bool:
    """Whether `wanted` is stronger than the intent of the stop under way."""
    return _STRENGTH[wanted] > _STRENGTH[current]


class Charge(StrEnum):
    """Which of a job's retry budgets an ending uses up."""

    NOTHING = "nothing"
    RETRY = "retry"
    NODE_RETRY = "node_retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """An attempt's end as reported, and what the job was asked to do at that time."""

    cause: EndCause
    finished: bool = False  # the program said that its work is complete
    intent: StopIntent | None = None  # of the stop under way; None: nobody had asked it to stop
    stop_cause: Cause | None = None  # why that stop was ordered
    retries_left: int = 0
    node_retries_left: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What becomes of the job, why, and what it costs."""

    trigger: Trigger
    cause: Cause
    charge: Charge = Charge.NOTHING


_AFTER_INTENT = {
    StopIntent.PREEMPT: (Trigger.REQUEUE, Cause.PREEMPTED),
    StopIntent.HOLD: (Trigger.PARK, Cause.USER_HELD),
    StopIntent.FAIL: (Trigger.FAIL, Cause.STOPPED),
    StopIntent.FINISH: (Trigger.COMPLETE, Cause.STOPPED),
    StopIntent.CANCEL: (Trigger.CANCEL, Cause.USER_CANCELLED),
}


def verdict(ending: Ending) -> Verdict:
    """What an attempt's end means for its job. Total: every combination has exactly one answer.

    A person's cancel wins over everything; work that is complete wins over every other wish to stop; a stop
    that was asked for costs no retry, whatever the exit code.
    """
    complete = ending.cause is EndCause.COMPLETED or (ending.finished and ending.cause is EndCause.STOPPED)
    if complete and ending.intent is not StopIntent.CANCEL:
        return Verdict(trigger=Trigger.COMPLETE, cause=Cause.COMPLETED)
    if ending.intent is not None:
        trigger, cause = _AFTER_INTENT[ending.intent]
        return Verdict(trigger=trigger, cause=ending.stop_cause or cause)
    if ending.cause is EndCause.START_FAILED:
        return Verdict(trigger=Trigger.FAIL, cause=Cause.START_FAILED)
    return _retried(ending)


def _retried(ending: Ending) -> Verdict:
    """The program's failures and the platform's are counted apart: a bad node must not use up the user's."""
    program = ending.cause is EndCause.PROGRAM_FAILED
    left = ending.retries_left if program else ending.node_retries_left
    cause = Cause(ending.cause.value)
    if left <= 0:
        return Verdict(trigger=Trigger.FAIL, cause=cause)
    return Verdict(
        trigger=Trigger.REQUEUE, cause=cause, charge=Charge.RETRY if program else Charge.NODE_RETRY
    )


def backoff_seconds(num_failures: int) -> int:
    """How long a job waits after its n-th failure of one kind before it may start again: 1, 2, 4, ... 300."""
    return int(min(300, 2 ** min(max(num_failures, 1) - 1, 9)))
