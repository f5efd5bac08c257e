"""What conductor and agents say to each other, as plain JSON values over Ray's actor calls.

An agent's table is synchronised by state, not by events: each change of a record gives it the agent's next
`seq`; a poll that acknowledges (incarnation, seq) gets every record changed since, and all of them when the
incarnation is another one. A lost or repeated answer therefore changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ray_runtime.protocol import Wire


class HostState(StrEnum):
    """How far one node has come with its part of an attempt."""

    PREPARING = "preparing"  # folders, code and the checkpoint to resume from are being made ready
    PREPARED = "prepared"  # it could start at once
    RUNNING = "running"  # its ranks have been started
    STOPPING = "stopping"  # SIGTERM was sent, or is on its way
    GONE = "gone"  # no process of the attempt is alive here, and none will be started any more


@dataclass(frozen=True, slots=True, kw_only=True)
class RankExit(Wire):
    """One rank's main process has ended; `code` is negative for a signal."""

    rank: int
    code: int
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRecord(Wire):
    """One attempt on one node, as its agent knows it."""

    attempt_id: str
    seq: int
    state: HostState = field(metadata={"one": HostState})
    ranks: tuple[int, ...] = field(default=(), metadata={"one": tuple})
    master_port: int | None = None  # set by the node of rank 0
    resume_from: str | None = None  # set by the node of rank 0
    started_at_ms: int | None = None
    exits: tuple[RankExit, ...] = field(default=(), metadata={"each": RankExit.from_json})
    lost: bool = False  # an agent died over it: ranks without an exit were killed with it
    stop_ordered: bool = False  # the portal wanted it stopped: exits since then are no failures
    problem: str = ""  # why it could not be started
    finished: bool = False  # a rank said that its work is complete
    last_lines: tuple[str, ...] = field(
        default=(), metadata={"one": tuple}
    )  # of the first rank that failed here


@dataclass(frozen=True, slots=True, kw_only=True)
class PollAnswer(Wire):
    """An agent's answer: who it is, how far its table has come, and the records changed since."""

    incarnation: str
    seq: int
    records: tuple[HostRecord, ...] = field(default=(), metadata={"each": HostRecord.from_json})
    metrics: Mapping[str, float] = field(default_factory=dict)


class StaleEpochError(Exception):
    """The caller is a conductor that another one has replaced."""
