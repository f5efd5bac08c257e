"""What a gang does about what it sees: pure, no process anywhere."""

from collections.abc import Mapping
from typing import Any

import pytest

from ray_runtime.liveness import Presence
from ray_runtime.messages import HostRecord, HostState, RankExit
from ray_runtime.policies import Decision, Leave, Save, Sight, Stay, decide, is_kill, revise
from ray_runtime.protocol import PEER_LOST_EXIT, EndCause, StopIntent, StopOrder
from ray_runtime.states import Forming, GangState, Leaving, Outcome, Reserving, Running, Saving
from ray_runtime.train import environment

STOP = StopOrder(intent=StopIntent.PREEMPT, grace_seconds=9.0, reason="make room")


def a_sight(node: str, codes: Mapping[int, int | None], **changes: Any) -> Sight:
    """A node with its ranks' exit codes; None: still running."""
    record_changes = {
        name: changes.pop(name)
        for name in ("state", "lost", "problem", "finished", "at_ms")
        if name in changes
    }
    at_ms = record_changes.pop("at_ms", 60_000)
    exits = tuple(
        RankExit(rank=rank, code=code, at_ms=at_ms) for rank, code in codes.items() if code is not None
    )
    values: dict[str, Any] = {"state": HostState.RUNNING} | record_changes
    record = HostRecord(
        attempt_id="a",
        seq=1,
        ranks=tuple(codes),
        started_at_ms=1_000,
        exits=exits,
        last_lines=("why",) if any(code for code in codes.values()) else (),
        **values,
    )
    return Sight(node=node, ranks=tuple(codes), **({"record": record} | changes))


def left(decision: Decision) -> Outcome:
    """The outcome of a decision to leave."""
    assert isinstance(decision, Leave)
    return decision.outcome


@pytest.mark.parametrize("state", [Reserving(), Forming(), Running(), Saving()])
def test_a_gang_that_is_well_stays(state: GangState) -> None:
    """Nothing has happened."""
    assert decide(state, [a_sight("n1", {0: None})], None if state != Saving() else STOP) == Stay()


def test_all_ranks_with_zero_complete_it() -> None:
    """On every node."""
    sights = [a_sight("n1", {0: 0, 1: 0}), a_sight("n2", {2: 0})]
    assert left(decide(Running(), sights, None)) == Outcome(cause=EndCause.COMPLETED, exit_code=0)


def test_a_rank_that_leaves_early_with_zero_is_waited_on_by_nobody() -> None:
    """Ranks need not end together."""
    assert decide(Running(), [a_sight("n1", {0: 0, 1: None})], None) == Stay()


def test_the_first_failure_by_time_is_the_reason() -> None:
    """What fails a moment later fails because of it, whatever its rank or node."""
    sights = [
        a_sight("n1", {0: 1}, at_ms=70_002),
        a_sight("n2", {1: -9}, at_ms=70_001),
        a_sight("n3", {2: None}),
    ]
    outcome = left(decide(Running(), sights, None))
    assert (outcome.cause, outcome.rank, outcome.node) == (EndCause.PROGRAM_FAILED, 1, "n2")
    assert outcome.exit_code == -9
    assert "signal 9" in outcome.message
    assert outcome.last_lines == ("why",)


@pytest.mark.parametrize(
    ("code", "at_ms", "cause"),
    [
        (127, 2_000, EndCause.START_FAILED),
        (126, 2_000, EndCause.START_FAILED),
        (127, 90_000, EndCause.PROGRAM_FAILED),
        (1, 2_000, EndCause.PROGRAM_FAILED),
    ],
)
def test_not_found_at_once_is_a_failed_start(code: int, at_ms: int, cause: EndCause) -> None:
    """An hour later it is a line of the program that failed."""
    assert left(decide(Running(), [a_sight("n1", {0: code}, at_ms=at_ms)], None)).cause is cause


@pytest.mark.parametrize("stop", [None, STOP])
def test_a_lost_node_outweighs_everything(stop: StopOrder | None) -> None:
    """Also a failure elsewhere: that is what a lost peer looks like from there."""
    sights = [a_sight("n1", {0: 1}), a_sight("n2", {1: None}, presence=Presence.NODE_LOST, why="gone")]
    outcome = left(decide(Running(), sights, stop))
    assert (outcome.cause, outcome.node, outcome.exit_code, outcome.message) == (
        EndCause.NODE_LOST,
        "n2",
        None,
        "gone",
    )


def test_a_lost_node_whose_ranks_had_ended_is_no_loss() -> None:
    """Their exits were told before."""
    sights = [a_sight("n1", {0: 0}), a_sight("n2", {1: 0}, presence=Presence.NODE_LOST)]
    assert left(decide(Running(), sights, None)).cause is EndCause.COMPLETED


def test_a_record_marked_lost_is_a_lost_agent() -> None:
    """The agent died and its successor says so; ranks lost with it send no exit."""
    outcome = left(decide(Running(), [a_sight("n1", {0: 0, 1: None}, lost=True, state=HostState.GONE)], None))
    assert (outcome.cause, outcome.node) == (EndCause.AGENT_LOST, "n1")


def test_a_stop_is_passed_on_once() -> None:
    """Then it is waited for."""
    sights = [a_sight("n1", {0: None})]
    assert decide(Running(), sights, STOP) == Save()
    assert decide(Saving(), sights, STOP) == Stay()


def test_after_a_stop_no_exit_code_is_a_failure() -> None:
    """The ranks are waited for, then it is stopped, whatever they left with."""
    half = [a_sight("n1", {0: 143}), a_sight("n2", {1: None})]
    assert decide(Saving(), half, STOP) == Stay()
    whole = [a_sight("n1", {0: 143}, state=HostState.GONE), a_sight("n2", {1: -9}, state=HostState.GONE)]
    outcome = left(decide(Saving(), whole, STOP))
    assert (outcome.cause, outcome.exit_code, outcome.message) == (EndCause.STOPPED, 143, "make room")


def test_a_shell_that_died_of_the_stop_does_not_cut_its_program_short() -> None:
    """The main process has ended, something of the rank still lives: it has its grace."""
    assert decide(Saving(), [a_sight("n1", {0: -15}, state=HostState.STOPPING)], STOP) == Stay()


@pytest.mark.parametrize(("codes", "cause"), [({0: 0}, EndCause.COMPLETED), ({0: 1}, EndCause.STOPPED)])
def test_work_that_is_finished_during_a_stop_is_complete(
    codes: dict[int, int | None], cause: EndCause
) -> None:
    """If it also left with zero."""
    sights = [a_sight("n1", codes, finished=True, state=HostState.GONE)]
    outcome = left(decide(Saving(), sights, STOP))
    assert (outcome.cause, outcome.finished) == (cause, True)


@pytest.mark.parametrize("state", [Reserving(), Forming()])
def test_a_stop_before_it_runs_ends_it(state: GangState) -> None:
    """There is nothing to save; what has started gets the order's grace."""
    decision = decide(state, [Sight(node="n1", ranks=(0,))], STOP)
    assert isinstance(decision, Leave)
    assert (decision.outcome.cause, decision.grace_seconds) == (EndCause.STOPPED, 9.0)


def test_exits_while_forming_are_looked_at_when_all_have_started() -> None:
    """So that `running` is always told before an end by the program."""
    assert decide(Forming(), [a_sight("n1", {0: 0})], None) == Stay()


def test_a_start_problem_ends_it_while_forming() -> None:
    """Folders or code could not be made ready."""
    outcome = left(decide(Forming(), [a_sight("n1", {0: None}, problem="no space")], None))
    assert (outcome.cause, outcome.message, outcome.node) == (EndCause.START_FAILED, "no space", "n1")


def test_a_leaving_gang_decides_nothing_more() -> None:
    """Its outcome is fixed."""
    state = Leaving(Outcome(cause=EndCause.STOPPED))
    assert decide(state, [a_sight("n1", {0: 1}, presence=Presence.NODE_LOST)], STOP) == Stay()


@pytest.mark.parametrize(
    ("presence", "cause"),
    [
        (Presence.PRESENT, EndCause.PROGRAM_FAILED),
        (Presence.NODE_LOST, EndCause.NODE_LOST),
        (Presence.AGENT_LOST, EndCause.AGENT_LOST),
    ],
)
def test_a_rank_killed_with_its_node_is_the_nodes_loss(presence: Presence, cause: EndCause) -> None:
    """The agent still told of the kill before it died itself."""
    told = left(decide(Running(), [a_sight("n1", {0: -9})], None))
    assert is_kill(told)
    sight = a_sight("n1", {0: -9}, presence=presence, why="gone")
    assert revise(told, [sight]).cause is cause
    if presence is Presence.PRESENT:
        assert revise(told, [sight], is_replaced=True).cause is EndCause.AGENT_LOST


def test_a_lost_node_shows_first_in_its_peers() -> None:
    """Their collectives break within milliseconds; the loss itself is known a moment later."""
    told = left(decide(Running(), [a_sight("n1", {0: 1}), a_sight("n2", {1: None})], None))
    assert told.cause is EndCause.PROGRAM_FAILED
    seen = [a_sight("n1", {0: 1}), a_sight("n2", {1: None}, presence=Presence.NODE_LOST, why="gone")]
    assert (revise(told, seen).cause, revise(told, seen).node) == (EndCause.NODE_LOST, "n2")


def test_a_failure_on_nodes_that_are_well_stays_one() -> None:
    """All have answered and ended."""
    told = left(decide(Running(), [a_sight("n1", {0: 1}), a_sight("n2", {1: None})], None))
    assert revise(told, [a_sight("n1", {0: 1}), a_sight("n2", {1: -15})]) == told


@pytest.mark.parametrize(("culprit_at_ms", "rank"), [(69_990, 1), (70_010, 0)])
def test_who_left_for_a_lost_peer_is_not_to_blame(culprit_at_ms: int, rank: int) -> None:
    """If another failed before it; one that ended after it was ended by us."""
    peer = a_sight("n1", {0: PEER_LOST_EXIT}, at_ms=70_000)
    told = left(decide(Running(), [peer, a_sight("n2", {1: None})], None))
    seen = revise(told, [peer, a_sight("n2", {1: -11}, at_ms=culprit_at_ms)])
    assert (seen.cause, seen.rank) == (EndCause.PROGRAM_FAILED, rank)


def test_the_training_loop_leaves_with_the_code_that_is_understood_here() -> None:
    """Both sides of one agreement."""
    assert environment.PEER_LOST_EXIT == PEER_LOST_EXIT


def test_a_node_is_clear_when_nothing_can_be_alive_there() -> None:
    """Its agent says gone, or it is lost."""
    assert not a_sight("n1", {0: 0}).is_clear
    assert not Sight(node="n1", ranks=(0,)).is_clear
    assert a_sight("n1", {0: 0}, state=HostState.GONE).is_clear
    assert Sight(node="n1", ranks=(0,), presence=Presence.NODE_LOST).is_clear
