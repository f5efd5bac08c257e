"""Sentences: one for every code, with its numbers filled in, whatever is known or not."""

from typing import Any

import pytest
from django.utils import timezone, translation

from eventlog.models import Event
from jobs.explain import (
    cause_help,
    cause_label,
    cause_sentence,
    event_sentence,
    help_sentence,
    reason_params,
    reason_sentence,
    state_label,
)
from jobs.explain_causes import CAUSE_LABELS, STATE_LABELS
from jobs.explain_events import SENTENCES
from jobs.explain_times import basis_label, eta_sentence
from jobs.lifecycle import Cause, State
from jobs.services.transition import EVENT_KINDS
from scheduling.model import Basis, Help, ReasonCode
from tests.jobs.builders import NOW

# The parameters that the engine documents for its reasons, all at once.
PARAMS: dict[str, Any] = {
    "free_milli": 3000,
    "wanted_milli": 8000,
    "workers": 2,
    "largest_workers": 1,
    "accelerators_milli": 4000,
    "cpus_milli": 0,
    "memory_bytes": 0,
    "level": "rack",
    "types": "h100, a100",
    "queue": "research/nlp",
    "limit_milli": 4000,
    "used_milli": 4000,
    "claimed_milli": 0,
    "job": "j-1",
    "num_leaving": 2,
    "awaited_milli": 500,
    "kept_milli": 1000,
    "guarantee_milli": 2000,
    "other": "vision",
    "num_jobs": 2,
    "array": "a-1",
    "cap": 3,
}
STARTS_AT_MS = 1_795_993_200_000  # 2026-11-29 23:00 UTC


@pytest.mark.parametrize("code", list(ReasonCode))
def test_every_reason_has_a_sentence_with_its_numbers(code: ReasonCode) -> None:
    """No placeholder is left open."""
    sentence = reason_sentence({"code": code, "params": PARAMS, "help": Help.WAIT_FOR_DEVICES})
    assert sentence.endswith(".")
    assert "–" not in sentence
    assert "%" not in sentence


@pytest.mark.parametrize("code", list(ReasonCode))
def test_a_reason_of_an_older_engine_is_still_a_sentence(code: ReasonCode) -> None:
    """With dashes for what it did not say."""
    assert reason_sentence({"code": code, "params": {}, "help": ""})


@pytest.mark.parametrize("code", list(Help))
def test_every_help_has_a_sentence(code: Help) -> None:
    """With the queue where one is named."""
    sentence = help_sentence({"code": ReasonCode.SHARE, "params": PARAMS, "help": code})
    assert sentence.endswith(".")
    assert "–" not in sentence


def test_a_quota_is_explained_in_devices() -> None:
    """4 of 4, not 4000 of 4000."""
    reason = {"code": "limit_now", "params": PARAMS, "help": "raise_limit"}
    assert "4 of 4 accelerators are in use" in reason_sentence(reason)
    assert reason_params(reason)["awaited"] == 0.5


@pytest.mark.parametrize("code", ["over_limit", "limit_now"])
@pytest.mark.parametrize(("named", "words"), [({"type": "h100"}, "type h100"), ({"user": "ann"}, "user")])
def test_a_limit_says_whose_it_is(code: str, named: dict[str, str], words: str) -> None:
    """An accelerator type's and a user's limit are not taken for the queue's own."""
    sentence = reason_sentence({"code": code, "params": {**PARAMS, **named}, "help": "raise_limit"})
    assert words in sentence
    assert sentence != reason_sentence({"code": code, "params": PARAMS, "help": "raise_limit"})


def test_a_reservation_in_the_way_is_told_with_its_time_in_the_readers_zone() -> None:
    """Zero means that devices are being freed for the other: then no time is known."""
    reason = {"code": "kept_for_other", "params": {**PARAMS, "starts_at_ms": STARTS_AT_MS}, "help": ""}
    with timezone.override("Asia/Shanghai"):
        assert "starts about 2026-11-30 07:00 CST" in reason_sentence(reason)
    assert reason_params(reason)["starts_at"].isoformat() == "2026-11-29T23:00:00+00:00"
    freed = {**reason, "params": {**PARAMS, "starts_at_ms": 0}}
    assert "starts about" not in reason_sentence(freed)
    assert reason_params(freed)["starts_at"] is None


@pytest.mark.parametrize("basis", list(Basis))
def test_an_expected_start_says_what_it_rests_on(basis: Basis) -> None:
    """Whether a moment is known or not."""
    assert basis_label(basis) in eta_sentence({"at_ms": None, "basis": basis})
    assert "2026-11-29 23:00 UTC" in eta_sentence({"at_ms": STARTS_AT_MS, "basis": basis})


def test_a_level_is_named_only_where_there_is_one() -> None:
    """Else the sentence ends without it."""
    reason = {"code": "fragmented", "params": PARAMS, "help": "relax_topology"}
    assert "within one rack" in reason_sentence(reason)
    assert "within" not in reason_sentence({**reason, "params": {**PARAMS, "level": ""}})


def test_every_state_and_cause_has_a_word() -> None:
    """None is shown as code."""
    assert set(STATE_LABELS) == set(State)
    assert set(CAUSE_LABELS) == set(Cause)
    assert all(state_label(state) for state in State)
    assert cause_label("") == ""


@pytest.mark.parametrize("cause", list(Cause))
@pytest.mark.parametrize(
    "facts", [{}, {"node": "n1", "rank": 3, "exit_code": 7, "message": "m", "by": "ann"}]
)
def test_every_cause_is_a_sentence_whatever_is_known(cause: Cause, facts: dict[str, Any]) -> None:
    """Never a `KeyError` on a page."""
    assert cause_sentence(cause, facts)
    assert "%(" not in cause_sentence(cause, facts) + cause_help(cause)


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"rank": 2, "node": "n1", "exit_code": 1}, "Worker 2 on node n1 left with exit code 1."),
        ({"rank": 0, "node": "n1", "exit_code": -9}, "Worker 0 on node n1 was ended by signal 9."),
        ({"rank": 0, "node": "n1", "exit_code": 0}, "Worker 0 on node n1 left with exit code 0."),
    ],
)
def test_a_failed_program_is_told_with_its_worker(facts: dict[str, Any], sentence: str) -> None:
    """By exit code or by signal."""
    assert cause_sentence(Cause.PROGRAM_FAILED, facts) == sentence


def test_a_percent_sign_in_what_a_program_said_stays_one() -> None:
    """A message is data, never a template."""
    said = cause_sentence(Cause.START_FAILED, {"message": "100% %(node)s %s"})
    assert said == "The program could not be started: 100% %(node)s %s"


def test_every_event_that_a_step_writes_has_a_sentence() -> None:
    """None is shown as code."""
    assert set(EVENT_KINDS.values()) <= set(SENTENCES)


@pytest.mark.parametrize("kind", [*SENTENCES, "from_a_newer_version"])
def test_every_event_is_a_sentence_whatever_it_carries(kind: str) -> None:
    """Old events lack what new ones have; an unknown kind is shown as it is."""
    for cause in ("", "preempted", "unheard_of"):
        event = Event(kind=kind, cause=cause, data={}, seq=1, at=NOW)
        assert event_sentence(event)
        assert "%(" not in event_sentence(event, actor="ann")


def test_the_platform_acts_where_no_user_does() -> None:
    """An event without an actor."""
    event = Event(kind="cancelled", cause="user_cancelled", data={}, seq=1, at=NOW)
    assert event_sentence(event) == "Cancelled by the platform."
    assert event_sentence(event, actor="ann") == "Cancelled by ann."


def test_sentences_are_of_the_language_in_which_they_are_read() -> None:
    """Templates are lazy: nothing is fixed when the module is loaded."""
    with translation.override("zh-hans"):
        assert state_label("queued")
        assert reason_sentence({"code": "no_capacity", "params": PARAMS, "help": "wait_for_devices"})
