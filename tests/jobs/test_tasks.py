"""The clock's tasks: that each does its work, and what the one that starts conductors does not do."""

from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from cluster.services import take_epoch
from jobs import tasks
from jobs.services.exclusive import ENSURE_CONDUCTOR, alone
from ray_runtime import launcher
from tests.jobs.builders import World, fresh

Calls = list[dict[str, Any]]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, db: None) -> Calls:
    """What the launcher is asked for; Ray itself is the runtime's test."""
    calls: Calls = []
    monkeypatch.setattr(launcher, "ensure_conductor", lambda **asked: calls.append(asked))
    monkeypatch.setattr(settings, "ENV", replace(settings.ENV, ray_address="127.0.0.2:6379"))
    return calls


def test_a_tick_starts_what_waits(world: World) -> None:
    """As the worker runs it."""
    world.hear(now=timezone.now())
    job = world.submit(now=timezone.now())
    tasks.tick()
    assert fresh(job).state == "starting"


def test_reconciling_runs_on_an_empty_platform(db: None) -> None:
    """Before the first conductor came."""
    tasks.reconcile_jobs()


def test_a_silent_cluster_gets_a_conductor(started: Calls) -> None:
    """With the portal's address and the conductor's token, and none of the server's secrets around it."""
    tasks.ensure_conductor()
    (asked,) = started
    assert asked["token"] == settings.ENV.conductor_token
    assert asked["ray_address"] == "127.0.0.2:6379"
    assert not [name for name in asked["environ"] if name.startswith("GANGLINE_") or name == "DATABASE_URL"]


def test_a_conductor_that_speaks_is_left_alone(started: Calls) -> None:
    """A driver costs a second of a core."""
    take_epoch(incarnation="c", now=timezone.now())
    tasks.ensure_conductor()
    assert started == []


def test_without_a_cluster_nothing_is_started(started: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs wait."""
    monkeypatch.setattr(settings, "ENV", replace(settings.ENV, ray_address=""))
    tasks.ensure_conductor()
    assert started == []


def test_a_cluster_that_is_away_is_logged_and_tried_again(
    started: Calls, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The next beat asks anew; the lock is free again."""

    def refuse(**_asked: Any) -> bool:
        raise launcher.LauncherError("Ray did not answer")

    monkeypatch.setattr(launcher, "ensure_conductor", refuse)
    tasks.ensure_conductor()
    assert "Ray did not answer" in caplog.text
    with alone(ENSURE_CONDUCTOR) as held:
        assert held
