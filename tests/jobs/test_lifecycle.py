"""The life of a job: every edge and every pair that has none, and what each ending means."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.lifecycle import (
    PLACED,
    TABLE,
    TERMINAL,
    WAITING,
    Cause,
    Charge,
    Ending,
    State,
    Trigger,
    Verdict,
    backoff_seconds,
    escalates,
    next_state,
    verdict,
)
from jobs.models import PLACED as PLACED_IN_DATABASE
from jobs.models import TERMINAL as TERMINAL_IN_DATABASE
from jobs.models import JobState
from ray_runtime.protocol import EndCause, StopIntent

# Written out a second time on purpose: a slip in the table must not carry over into its test.
MATRIX = """
            place     start    stop      hold  release  requeue  park  complete   fail    cancel
queued      starting  .        .         held  .        .        .     .          failed  cancelled
held        .         .        .         .     queued   .        .     .          .       cancelled
starting    .         running  stopping  .     .        queued   .     succeeded  failed  .
running     .         .        stopping  .     .        queued   .     succeeded  failed  .
stopping    .         .        stopping  .     .        queued   held  succeeded  failed  cancelled
succeeded   .         .        .         .     .        .        .     .          .       .
failed      .         .        .         .     .        .        .     .          .       .
cancelled   .         .        .         .     .        .        .     .          .       .
"""


def _expected() -> dict[tuple[State, Trigger], State | None]:
    header, *rows = [line.split() for line in MATRIX.strip().splitlines()]
    return {
        (State(row[0]), Trigger(trigger)): None if cell == "." else State(cell)
        for row in rows
        for trigger, cell in zip(header, row[1:], strict=True)
    }


def test_the_matrix_has_every_pair() -> None:
    """Eight states by ten triggers, none left out."""
    assert set(_expected()) == set(itertools.product(State, Trigger))


@pytest.mark.parametrize(("state", "trigger"), list(itertools.product(State, Trigger)))
def test_each_pair_leads_where_the_matrix_says(state: State, trigger: Trigger) -> None:
    """Each edge, and each pair without one."""
    assert next_state(state, trigger) is _expected()[state, trigger]


def test_no_edge_leaves_a_terminal_state() -> None:
    """What has ended stays as it ended."""
    assert not [state for state, _trigger in TABLE if state in TERMINAL]


def test_every_state_is_of_exactly_one_kind() -> None:
    """Waiting, placed and terminal divide the states."""
    assert sorted([*WAITING, *PLACED, *TERMINAL]) == sorted(State)


def test_the_models_use_the_same_words() -> None:
    """The database's choices and conditions name the states of the lifecycle."""
    assert set(JobState.values) == {state.value for state in State}
    assert set(TERMINAL_IN_DATABASE) == TERMINAL
    assert set(PLACED_IN_DATABASE) == PLACED


ORDER = [StopIntent.PREEMPT, StopIntent.HOLD, StopIntent.FAIL, StopIntent.CANCEL]


@pytest.mark.parametrize(("current", "wanted"), list(itertools.product(ORDER, ORDER)))
def test_an_intent_only_grows(current: StopIntent, wanted: StopIntent) -> None:
    """Preempt, hold, fail, cancel: only a later one replaces an earlier one."""
    assert escalates(current, wanted) == (ORDER.index(wanted) > ORDER.index(current))


def test_fail_and_finish_do_not_replace_each_other() -> None:
    """Equally strong: whichever came first stays."""
    assert not escalates(StopIntent.FAIL, StopIntent.FINISH)
    assert not escalates(StopIntent.FINISH, StopIntent.FAIL)


@pytest.mark.parametrize("cause", list(EndCause))
@pytest.mark.parametrize("finished", [False, True])
def test_a_cancelled_job_is_cancelled_whatever_its_program_answered(cause: EndCause, finished: bool) -> None:
    """Also when it was just complete, and when its node was lost meanwhile."""
    ending = Ending(cause=cause, finished=finished, intent=StopIntent.CANCEL, retries_left=9)
    assert verdict(ending) == Verdict(trigger=Trigger.CANCEL, cause=Cause.USER_CANCELLED)


@pytest.mark.parametrize("cause", [cause for cause in EndCause if cause is not EndCause.COMPLETED])
@pytest.mark.parametrize("stop_cause", [Cause.PREEMPTED, Cause.RECLAIMED])
def test_a_preempted_job_waits_again_at_no_cost(cause: EndCause, stop_cause: Cause) -> None:
    """Whatever ended it on its way out, no retry is used up."""
    ending = Ending(cause=cause, intent=StopIntent.PREEMPT, stop_cause=stop_cause)
    assert verdict(ending) == Verdict(trigger=Trigger.REQUEUE, cause=stop_cause)


@pytest.mark.parametrize("intent", [StopIntent.PREEMPT, StopIntent.HOLD, StopIntent.FAIL, None])
def test_complete_work_wins_over_every_stop_but_a_cancel(intent: StopIntent | None) -> None:
    """A job that finishes while it is told to leave has succeeded."""
    done = Verdict(trigger=Trigger.COMPLETE, cause=Cause.COMPLETED)
    assert verdict(Ending(cause=EndCause.COMPLETED, intent=intent)) == done
    assert verdict(Ending(cause=EndCause.STOPPED, finished=True, intent=intent)) == done


def test_finished_is_not_believed_when_the_program_then_failed() -> None:
    """One rank said finished, another crashed: the job failed."""
    assert verdict(Ending(cause=EndCause.PROGRAM_FAILED, finished=True)).trigger is Trigger.FAIL


def test_a_job_over_its_time_fails_with_that_cause() -> None:
    """The cause is that of the stop order."""
    ending = Ending(
        cause=EndCause.STOPPED, intent=StopIntent.FAIL, stop_cause=Cause.TIME_LIMIT, retries_left=3
    )
    assert verdict(ending) == Verdict(trigger=Trigger.FAIL, cause=Cause.TIME_LIMIT)


def test_a_job_told_to_hold_is_held() -> None:
    """The attempt ends, the job keeps its place among the held ones."""
    ending = Ending(cause=EndCause.STOPPED, intent=StopIntent.HOLD, stop_cause=Cause.USER_HELD)
    assert verdict(ending) == Verdict(trigger=Trigger.PARK, cause=Cause.USER_HELD)


def test_a_program_that_fails_is_repeated_while_it_has_retries() -> None:
    """Node retries do not count for it."""
    ending = Ending(cause=EndCause.PROGRAM_FAILED, retries_left=1, node_retries_left=0)
    expected = Verdict(trigger=Trigger.REQUEUE, cause=Cause.PROGRAM_FAILED, charge=Charge.RETRY)
    assert verdict(ending) == expected


def test_a_program_that_fails_without_retries_has_failed() -> None:
    """However many node retries are left."""
    ending = Ending(cause=EndCause.PROGRAM_FAILED, retries_left=0, node_retries_left=9)
    assert verdict(ending) == Verdict(trigger=Trigger.FAIL, cause=Cause.PROGRAM_FAILED)


PLATFORM = [
    EndCause.NODE_LOST,
    EndCause.AGENT_LOST,
    EndCause.PLACEMENT_FAILED,
    EndCause.UNKNOWN,
    EndCause.STOPPED,  # nobody had asked: the cluster's doing
]


@pytest.mark.parametrize("cause", PLATFORM)
def test_the_platforms_failures_use_node_retries_only(cause: EndCause) -> None:
    """With one left the job waits again, with none it has failed, for the same cause."""
    again = verdict(Ending(cause=cause, retries_left=0, node_retries_left=1))
    assert again == Verdict(trigger=Trigger.REQUEUE, cause=Cause(cause.value), charge=Charge.NODE_RETRY)
    over = verdict(Ending(cause=cause, retries_left=9, node_retries_left=0))
    assert over == Verdict(trigger=Trigger.FAIL, cause=Cause(cause.value))


def test_a_job_that_cannot_start_is_not_repeated() -> None:
    """A wrong command stays wrong."""
    ending = Ending(cause=EndCause.START_FAILED, retries_left=9, node_retries_left=9)
    assert verdict(ending) == Verdict(trigger=Trigger.FAIL, cause=Cause.START_FAILED)


@given(
    st.builds(
        Ending,
        cause=st.sampled_from(EndCause),
        finished=st.booleans(),
        intent=st.none() | st.sampled_from(StopIntent),
        stop_cause=st.none() | st.sampled_from(Cause),
        retries_left=st.integers(-2, 3),
        node_retries_left=st.integers(-2, 3),
    )
)
def test_every_verdict_is_an_edge_from_the_state_it_is_given_in(ending: Ending) -> None:
    """Stopping iff there is an intent; a charge only for an ending that leads back to the queue."""
    states = [State.STARTING, State.RUNNING] if ending.intent is None else [State.STOPPING]
    answer = verdict(ending)
    assert all(next_state(state, answer.trigger) is not None for state in states)
    assert answer.charge is Charge.NOTHING or answer.trigger is Trigger.REQUEUE


def test_backoff_doubles_up_to_five_minutes() -> None:
    """1, 2, 4, ... and never more than 300 seconds, however often it failed."""
    assert [backoff_seconds(count) for count in (1, 2, 3, 9, 10, 10_000)] == [1, 2, 4, 256, 300, 300]
