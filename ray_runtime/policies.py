"""What a gang does about what it sees. Pure functions: observations in, a decision out."""

import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ray_runtime.liveness import Presence
from ray_runtime.messages import HostRecord, HostState, RankExit
from ray_runtime.protocol import PEER_LOST_EXIT, EndCause, StopOrder
from ray_runtime.start import CANNOT_START
from ray_runtime.states import Forming, GangState, Leaving, Outcome, Reserving, Saving

FAILURE_GRACE_SECONDS = 1.0  # peers of a lost rank hang in a collective: little to wait for
_LOSSES = {Presence.NODE_LOST: EndCause.NODE_LOST, Presence.AGENT_LOST: EndCause.AGENT_LOST}
_CANNOT_EXECUTE = 126
_START_WINDOW_MS = 10_000  # a shell's 126 or 127 this soon means that the command itself could not be used


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One node of a gang as the conductor sees it; `record` is None before its agent has said anything."""

    node: str
    ranks: tuple[int, ...]
    presence: Presence = Presence.PRESENT
    record: HostRecord | None = None
    why: str = ""

    @property
    def exits(self) -> tuple[RankExit, ...]:
        """The exits known of its ranks."""
        return self.record.exits if self.record is not None else ()

    @property
    def has_all_exits(self) -> bool:
        """Whether each of its ranks is known to have ended by itself."""
        return {rank_exit.rank for rank_exit in self.exits} >= set(self.ranks)

    @property
    def is_clear(self) -> bool:
        """Whether no process of the gang can be alive there, as far as anyone can know."""
        return self.presence is not Presence.PRESENT or (
            self.record is not None and self.record.state is HostState.GONE
        )


@dataclass(frozen=True, slots=True)
class Stay:
    """Nothing to do."""


@dataclass(frozen=True, slots=True)
class Save:
    """Pass the stop order on to every rank."""


@dataclass(frozen=True, slots=True)
class Leave:
    """The attempt is over: end what is left within the grace."""

    outcome: Outcome
    grace_seconds: float


Decision = Stay | Save | Leave


def decide(state: GangState, sights: Sequence[Sight], stop: StopOrder | None) -> Decision:
    """The next thing for a gang to do.

    A lost node or agent ends it whatever else happened, unless that node's ranks had ended by themselves.
    After a stop order, how ranks end no longer matters: they are waited for. Otherwise the first failure ends
    the gang, and so does the last success.
    """
    if isinstance(state, Leaving):
        return Stay()
    if (broken := _loss(sights) or _start_problem(sights)) is not None:
        return Leave(broken, FAILURE_GRACE_SECONDS)
    if isinstance(state, (Reserving, Forming)):
        return _while_starting(stop)
    if all(sight.has_all_exits for sight in sights) and _may_leave(state, sights):
        return Leave(_after_all_exits(sights, stop), 0.0)
    if stop is None:
        failure = _first_failure(sights)
        return Stay() if failure is None else Leave(failure, FAILURE_GRACE_SECONDS)
    return Stay() if isinstance(state, Saving) else Save()


def is_kill(outcome: Outcome) -> bool:
    """Whether a failure may be the first sign of a dying node, whose agent still told of a killed rank."""
    return outcome.cause is EndCause.PROGRAM_FAILED and outcome.exit_code == -signal.SIGKILL


def revise(outcome: Outcome, sights: Sequence[Sight], *, is_replaced: bool = False) -> Outcome:
    """The outcome of a failure in the light of what was seen while the gang was cleared away.

    A lost node shows first in its peers, whose collectives break: every node has answered or is lost by now.
    Nor is a rank to blame that left because a peer was lost, if another failed before it.
    `is_replaced`: another agent answers on the killed rank's node now.
    """
    if outcome.cause is not EndCause.PROGRAM_FAILED:
        return outcome
    if is_kill(outcome):
        return _revise_kill(outcome, sights, is_replaced=is_replaced)
    if (lost := _loss(sights)) is not None:
        return lost
    if outcome.exit_code != PEER_LOST_EXIT:
        return outcome
    return _first_failure(sights, before_peers=True) or outcome


def _revise_kill(outcome: Outcome, sights: Iterable[Sight], *, is_replaced: bool) -> Outcome:
    sight = next(sight for sight in sights if sight.node == outcome.node)
    cause = _LOSSES.get(Presence.AGENT_LOST if is_replaced else sight.presence)
    why = sight.why or f"the agent of node {sight.node} died, and its workers with it"
    return outcome if cause is None else Outcome(cause=cause, node=sight.node, message=why)


def _may_leave(state: GangState, sights: Iterable[Sight]) -> bool:
    """A shell dies of SIGTERM at once; what it started may still be saving, and has its grace."""
    return not isinstance(state, Saving) or all(sight.is_clear for sight in sights)


def _while_starting(stop: StopOrder | None) -> Decision:
    """A gang that is not complete has nothing to save; early exits are looked at once all have started."""
    if stop is None:
        return Stay()
    return Leave(Outcome(cause=EndCause.STOPPED, message=stop.reason), stop.grace_seconds)


def _loss(sights: Iterable[Sight]) -> Outcome | None:
    """The first node that is gone with ranks that had not ended."""
    for sight in sights:
        if sight.has_all_exits:
            continue
        if sight.presence is Presence.NODE_LOST:
            return Outcome(cause=EndCause.NODE_LOST, node=sight.node, message=sight.why)
        if sight.presence is Presence.AGENT_LOST or (sight.record is not None and sight.record.lost):
            why = sight.why or f"the agent of node {sight.node} died, and its workers with it"
            return Outcome(cause=EndCause.AGENT_LOST, node=sight.node, message=why)
    return None


def _start_problem(sights: Iterable[Sight]) -> Outcome | None:
    for sight in sights:
        if sight.record is not None and sight.record.problem:
            return Outcome(cause=EndCause.START_FAILED, node=sight.node, message=sight.record.problem)
    return None


def _after_all_exits(sights: Sequence[Sight], stop: StopOrder | None) -> Outcome:
    failure = _first_failure(sights)
    finished = any(sight.record is not None and sight.record.finished for sight in sights)
    if failure is None and (stop is None or finished):
        return Outcome(cause=EndCause.COMPLETED, exit_code=0, finished=finished)
    if stop is not None:
        code = failure.exit_code if failure is not None else 0
        return Outcome(cause=EndCause.STOPPED, exit_code=code, message=stop.reason, finished=finished)
    assert failure is not None
    return failure


def _first_failure(sights: Iterable[Sight], *, before_peers: bool = False) -> Outcome | None:
    """The rank that failed first, by time; what failed a moment later failed because of it.

    `before_peers`: only one that failed no later than the first that left for the loss of a peer. Whatever
    failed after those was ended by us.
    """
    failures = [(rank_exit, sight) for sight in sights for rank_exit in sight.exits if rank_exit.code != 0]
    if before_peers:
        left_at_ms = min(found[0].at_ms for found in failures if found[0].code == PEER_LOST_EXIT)
        failures = [
            found for found in failures if found[0].code != PEER_LOST_EXIT and found[0].at_ms <= left_at_ms
        ]
    if not failures:
        return None
    rank_exit, sight = min(failures, key=lambda found: (found[0].at_ms, found[0].rank))
    assert sight.record is not None
    return Outcome(
        cause=_cause_of(rank_exit, sight.record),
        exit_code=rank_exit.code,
        rank=rank_exit.rank,
        node=sight.node,
        message=_failure_message(rank_exit),
        last_lines=sight.record.last_lines,
    )


def _cause_of(rank_exit: RankExit, record: HostRecord) -> EndCause:
    """A shell's "not found" or "cannot execute" at once is the command's fault, not the program's."""
    ran_ms = rank_exit.at_ms - (record.started_at_ms or rank_exit.at_ms)
    if rank_exit.code in {CANNOT_START, _CANNOT_EXECUTE} and ran_ms < _START_WINDOW_MS:
        return EndCause.START_FAILED
    return EndCause.PROGRAM_FAILED


def _failure_message(rank_exit: RankExit) -> str:
    if rank_exit.code < 0:
        return f"rank {rank_exit.rank} was ended by signal {-rank_exit.code}"
    return f"rank {rank_exit.rank} left with exit code {rank_exit.code}"
