"""Nodes, queues, quotas, tokens: what is shown, and what is sent."""

import json

import pytest
import yaml

from tests.cli.conftest import Command
from tests.cli.recording_portal import Answer, RecordingPortal, page

NODE = {
    "name": "n1",
    "state": "ready",
    "problem": "",
    "cordoned": True,
    "labels": {"gangline.zone": "z1", "gangline.rack": "rack-a"},
    "accelerator_type": "slot",
    "num_accelerators": 4,
    "used": 2,
    "jobs": [{"id": "1", "name": "[bold]微调[/]", "devices": [0, 1]}],
    "metrics": {},
}
QUEUE = {
    "path": "vision",
    "team": "vision",
    "guarantee": 8.0,
    "limit": None,
    "weight": 1,
    "used": 16.0,
    "borrowed": 8.0,
    "pending": 3,
    "running": 1,
}


@pytest.mark.parametrize("arguments", [["nodes"], ["nodes", "list"]])
def test_nodes_show_what_runs_on_them(
    gangline: Command, portal: RecordingPortal, arguments: list[str]
) -> None:
    """A job's name is shown letter for letter, whatever it looks like."""
    portal.on("GET", "cluster/nodes", page(NODE))
    out = gangline(*arguments).out
    for text in ("n1", "ready, cordoned", "2/4", "rack-a", "[bold]微调[/] [0, 1]"):
        assert text in out


def test_cordon_sends_the_reason(gangline: Command, portal: RecordingPortal) -> None:
    """And uncordon takes it back."""
    portal.on("POST", "nodes/n1/(un)?cordon", NODE)
    assert gangline("nodes", "cordon", "n1", "--reason", "fan broken").code == 0
    assert portal.requests[-1].json() == {"reason": "fan broken"}
    assert gangline("nodes", "uncordon", "n1").code == 0
    assert portal.requests[-1].path == "/api/v1/nodes/n1/uncordon"


def test_drain_tells_how_many_leave(gangline: Command, portal: RecordingPortal) -> None:
    """With the reason, as for a cordon."""
    portal.on("POST", "nodes/n1/drain", {"node": "n1", "num_leaving": 2})
    assert "2 jobs leave it" in gangline("nodes", "drain", "n1", "--reason", "fan").out
    assert portal.requests[-1].json() == {"reason": "fan"}


def test_simulate_sends_what_is_supposed_and_tells_what_would_change(
    gangline: Command, portal: RecordingPortal
) -> None:
    """A job of another team has no name."""
    reason = {"text": "It waits.", "code": "no_capacity"}
    answer = {
        "jobs": [{"starts_now": False, "reason": reason, "eta": {"text": "Starts about noon."}}],
        "evicted": [{"id": None, "name": None, "kind": "reclaim", "beneficiary": "x"}],
        **{"interrupted": [], "starts": [], "waits": []},
    }
    portal.on("POST", "simulate", answer)
    out = gangline("simulate", "name=x", "run=true", "--without-node", "n1").out
    assert portal.requests[-1].json() == {
        "jobs": [{"name": "x", "run": "true"}],
        "remove_nodes": ["n1"],
        "cordon_nodes": [],
    }
    for text in ("would wait", "Starts about noon.", "would have to leave", "another team's job"):
        assert text in out
    assert gangline("simulate").code == 2


def test_a_quota_is_set_by_type_and_for_users(gangline: Command, portal: RecordingPortal) -> None:
    """`none` takes a limit away, and all types."""
    portal.on("PATCH", "queues/vision", QUEUE)
    gangline(
        "quota", "set", "vision", "--user-limit", "none", "--type-limit", "h100=4", "--type-limit", "a=1"
    )
    assert portal.requests[-1].json() == {"user_limit": None, "type_limits": {"h100": 4.0, "a": 1.0}}
    gangline("quota", "set", "vision", "--type-guarantee", "none")
    assert portal.requests[-1].json() == {"type_guarantees": {}}


def test_queues_show_use_beside_guarantee_and_limit(gangline: Command, portal: RecordingPortal) -> None:
    """Whole amounts without decimals, no limit as a word."""
    portal.on("GET", "queues", page(QUEUE))
    header, row = gangline("queues").out.splitlines()
    assert header.split()[2:7] == ["GUARANTEE", "LIMIT", "WEIGHT", "USED", "BORROWED"]
    assert row.split() == ["vision", "vision", "8", "none", "1", "16", "8", "1", "3"]


def test_quota_show_is_a_queue_with_those_below_it(gangline: Command, portal: RecordingPortal) -> None:
    """And not one whose name only begins the same."""
    below, beside = {**QUEUE, "path": "vision/large"}, {**QUEUE, "path": "visionary"}
    portal.on("GET", "queues", page(QUEUE, below, beside))
    assert gangline("quota", "show", "vision", "-o", "name").out.split() == ["vision", "vision/large"]
    assert gangline("quota", "show", "nothing").code == 3


def test_quota_set_sends_only_what_was_given(gangline: Command, portal: RecordingPortal) -> None:
    """`none` takes a limit away; a path's slashes stay."""
    portal.on("PATCH", "queues/research/nlp", QUEUE)
    gangline("quota", "set", "research/nlp", "--limit", "none", "--weight", "2")
    assert portal.requests[-1].json() == {"limit": None, "weight": 2}
    gangline("quota", "set", "research/nlp", "--guarantee", "0", "--limit", "4")
    assert portal.requests[-1].json() == {"guarantee": 0.0, "limit": 4.0}


def test_a_new_tokens_secret_is_all_that_is_printed(gangline: Command, portal: RecordingPortal) -> None:
    """So that a script can keep it; it is never asked for twice."""
    portal.on("POST", "tokens", Answer({"id": "t1", "token": "glt_secret"}, 201))
    assert gangline("tokens", "create", "ci").out == "glt_secret\n"
    assert portal.requests[-1].json() == {"name": "ci"}


def test_tokens_are_listed_and_revoked(gangline: Command, portal: RecordingPortal) -> None:
    """By id."""
    token = {
        "id": "t1",
        "name": "ci",
        "prefix": "glt_abcd",
        "created_at": "2026-11-30T10:00:00Z",
        "expires_at": None,
    }
    portal.on("GET", "tokens", page(token))
    portal.on("DELETE", "tokens/t1", Answer(None, 204))
    assert "glt_abcd" in gangline("tokens", "list").out
    assert gangline("tokens", "revoke", "t1").code == 0


def test_json_and_yaml_are_what_the_api_said(gangline: Command, portal: RecordingPortal) -> None:
    """Nothing is left out, renamed or rounded; Chinese stays readable."""
    portal.on("GET", "cluster/nodes", page(NODE))
    assert json.loads(gangline("nodes", "-o", "json").out) == [NODE]
    as_yaml = gangline("nodes", "-o", "yaml").out
    assert yaml.safe_load(as_yaml) == [NODE]
    assert "微调" in as_yaml


def test_version_tells_ours_although_the_portal_is_away(gangline: Command, portal: RecordingPortal) -> None:
    """It is what one is asked for when something is wrong."""
    portal.on("GET", "version", {"version": "9.9.9"})
    assert "9.9.9" in gangline("version").out
    portal.stop()
    result = gangline("version")
    assert (result.code, "not reachable" in result.out) == (0, True)
