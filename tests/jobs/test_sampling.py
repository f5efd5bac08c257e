"""Some live plans are held against the invariants; one that breaks any is logged."""

import logging
from itertools import count

import pytest

from jobs.services import sampling
from scheduling.decide import decide
from scheduling.model import Plan, Policy, Start
from tests.scheduling.building import job, node, on, snapshot

NOW_MS = 100_000
ROWS = snapshot([node("n1", 2)], [job("a", 2), job("b", 2)])


@pytest.fixture(autouse=True)
def first_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count begins anew."""
    monkeypatch.setattr(sampling, "_turns", count())


def test_one_plan_in_twenty_is_checked(caplog: pytest.LogCaptureFixture) -> None:
    """The first one, and the next after nineteen; a lawful plan leaves no word."""
    plan = decide(ROWS, NOW_MS, Policy())
    checked = [sampling.check_now_and_then(ROWS, plan, now_ms=NOW_MS) for _ in range(41)]
    assert [turn for turn, was in enumerate(checked) if was] == [0, 20, 40]
    assert caplog.records == []


def test_a_plan_that_gives_a_device_twice_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Both jobs on the same devices: what is wrong is said."""
    starts = [Start(job=job(n).id, placement=on("n1:0,1"), accelerator_type="x") for n in ("a", "b")]
    with caplog.at_level(logging.ERROR):
        assert sampling.check_now_and_then(ROWS, Plan(starts=tuple(starts)), now_ms=NOW_MS)
    assert "given twice" in caplog.text
