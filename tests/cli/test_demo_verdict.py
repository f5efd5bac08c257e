"""The demo says ok only if its story really happened: every claim fails when its fact is taken away."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from gangline.demo.cast import read_cast
from gangline.demo.evidence import Point, Record
from gangline.demo.verdict import Finding, judge

START = datetime.fromisoformat("2026-11-30T10:00:00+00:00")
LAST_STEPS = {1: 60, 2: 120, 3: 200}


def at(seconds: float) -> datetime:
    """A time of the story."""
    return START + timedelta(seconds=seconds)


def attempt(
    number: int, first: float, last: float, *, nodes: int = 4, resumed: int | None = None
) -> dict[str, Any]:
    """An attempt from one second to another on so many nodes of four slots."""
    return {
        "number": number,
        "placement": [{"rank": n, "node": f"n{n + 1}", "devices": [0, 1, 2, 3]} for n in range(nodes)],
        "ordered_at": at(first).isoformat(),
        "running_at": at(first + 0.5).isoformat(),
        "ended_at": at(last).isoformat(),
        "resumed_step": resumed,
    }


def losses(first: int, last: int, *, begin: float) -> tuple[Point, ...]:
    """A falling loss, ten steps a second."""
    return tuple(
        Point(step, 5 - step / 100, at(begin + 0.1 * index))
        for index, step in enumerate(range(first, last + 1))
    )


def stop(cause: str) -> dict[str, Any]:
    """The event of a stop order."""
    return {"kind": "stop_ordered", "cause": cause}


def pretraining() -> Record:
    """The first job: 60 steps, away for the neighbours, 60 more, away for the urgent one, the rest."""
    return Record(
        job={"name": "long", "state": "succeeded", "total_steps": 200},
        attempts=(attempt(1, 0, 10), attempt(2, 20, 30, resumed=60), attempt(3, 40, 60, resumed=120)),
        events=(stop("reclaimed"), stop("preempted")),
        checkpoints=tuple({"step": step, "state": "whole"} for step in (60, 120, 200)),
        losses=(*losses(1, 60, begin=1), *losses(61, 120, begin=21), *losses(121, 200, begin=41)),
    )


def newcomer(name: str, first: float, last: float, nodes: int) -> Record:
    """A job of one attempt."""
    return Record(
        job={"name": name, "state": "succeeded", "total_steps": 40},
        attempts=(attempt(1, first, last, nodes=nodes),),
        events=(),
        checkpoints=(),
        losses=losses(1, 40, begin=first + 1),
    )


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    """Findings are told in the terminal's language."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)


def judged(**changes: Any) -> list[Finding]:
    """The findings that do not hold when the first job's record is changed so."""
    last_steps = changes.pop("last_steps", LAST_STEPS)
    guaranteed = changes.pop("guaranteed", newcomer("guaranteed", 11, 19, 2))
    urgent = changes.pop("urgent", newcomer("urgent", 31, 39, 1))
    findings = judge(replace(pretraining(), **changes), guaranteed, urgent, last_steps=last_steps)
    return [finding for finding in findings if not finding.holds]


def test_the_story_as_it_should_be_has_nothing_to_object() -> None:
    """All claims hold together."""
    assert judged() == []


def without(step: int) -> Callable[[Record], dict[str, Any]]:
    """Takes one step's loss away."""
    return lambda record: {"losses": tuple(point for point in record.losses if point.step != step)}


@pytest.mark.parametrize(
    ("change", "objection"),
    [
        (lambda record: {"job": {**record.job, "state": "failed"}}, "succeeded"),
        (lambda record: {"attempts": record.attempts[:1]}, "resumed from there"),
        (
            lambda record: {"attempts": (attempt(1, 0, 10, nodes=3), *record.attempts[1:])},
            "4 nodes and 16 slots",
        ),
        (lambda record: {"events": record.events[1:]}, "give back"),
        (lambda record: {"events": record.events[:1]}, "urgent"),
        (lambda record: {"events": (*record.events, stop("reclaimed"))}, "give back"),
        (lambda record: {"checkpoints": record.checkpoints[1:]}, "resumed from there"),
        (lambda record: {"last_steps": {**LAST_STEPS, 1: 64}}, "resumed from there"),
        (without(77), "every step once"),
        (without(200), "every step once"),
        (lambda record: {"losses": ()}, "loss of long fell"),
        (
            lambda record: {"losses": tuple(replace(p, loss=1 + p.step) for p in record.losses)},
            "loss of long fell",
        ),
        (lambda record: {"losses": (*losses(1, 59, begin=1), *losses(60, 200, begin=21))}, "no step twice"),
        (
            lambda record: {"guaranteed": newcomer("guaranteed", 9, 19, 2)},
            "guaranteed ran while long was away",
        ),
        (lambda record: {"urgent": newcomer("urgent", 31, 41, 1)}, "urgent ran while long was away"),
    ],
)
def test_each_claim_fails_without_its_fact(
    change: Callable[[Record], dict[str, Any]], objection: str
) -> None:
    """So an ok means something."""
    objections = " | ".join(finding.claim for finding in judged(**change(pretraining())))
    assert objection in objections


def test_the_cast_is_read_from_the_seeds_files() -> None:
    """One member of each team with the team's root queue."""

    def team(slug: str) -> dict[str, Any]:
        users = [
            {
                "username": f"{slug}-{role}",
                "role": role,
                "team": slug,
                "password": "p",
                "token": f"glt_{slug}_{role}",
            }
            for role in ("team_admin", "member", "viewer")
        ]
        return {"slug": slug, "name": slug, "queues": [slug, f"{slug}/x"], "users": users}

    cast = read_cast({"username": "admin", "password": "a"}, {"teams": [team("research"), team("product")]})
    assert (cast.team_a.token, cast.team_a.queue) == ("glt_research_member", "research")
    assert (cast.team_b.username, cast.team_b.queue) == ("product-member", "product")
