"""The given scheduling cases that need no reservation and no elastic job, on a virtual clock."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.scheduling.clock import Seen, VirtualCluster

Case = Mapping[str, Any]

CASES: dict[str, Case] = {
    case["id"]: case for case in json.loads(Path(__file__).with_name("cases.json").read_text())["cases"]
}
NOT_YET = {"large-gang-reservation-and-backfill", "elastic-resize-accounting"}


def play(name: str) -> VirtualCluster:
    """Runs a case to its end."""
    cluster = VirtualCluster(CASES[name])
    cluster.run(until=max(check["t"] for check in CASES[name]["expect"]["checks"]))
    return cluster


def differences(seen: Seen, check: Case) -> list[str]:
    """How the state differs from what a check states; what it says in words has a test of its own."""
    usage = {queue: seen.usage.get(queue, 0) for queue in check.get("usage", {})}
    reasons = {name: seen.reasons.get(name) for name in check.get("reason", {})}
    meant = {name: code.replace("held", "kept_for_other") for name, code in check.get("reason", {}).items()}
    waiting = {name for name in check.get("pending", []) if " " not in name}
    return [
        *(
            f"{name} runs elsewhere"
            for name, want in check["running"].items()
            if not runs_so(seen, name, want)
        ),
        *(f"{name} does not wait" for name in waiting - seen.pending),
        *(f"used: {usage}" for _ in [usage] if usage != check.get("usage", {})),
        *(f"reasons: {reasons}" for _ in [reasons] if reasons != meant),
    ]


def runs_so(seen: Seen, name: str, want: list[str] | int | str) -> bool:
    """On these nodes, or with that many workers, or (put in words) at all."""
    nodes = seen.running.get(name, [])
    if isinstance(want, list):
        return nodes == sorted(want)
    return len(nodes) == want if isinstance(want, int) else bool(nodes)


@pytest.mark.parametrize("name", sorted(CASES.keys() - NOT_YET))
def test_every_check_of_the_case_holds(name: str) -> None:
    """Places, waiting jobs, reasons and usage at every check; first starts; evictions of the jobs named."""
    cluster, expect = play(name), CASES[name]["expect"]
    for check in expect["checks"]:
        assert differences(cluster.at(check["t"]), {"running": {}, **check}) == []
    assert {job: cluster.first_starts[job] for job in expect["starts"]} == expect["starts"]
    if not any(" " in key for key in expect["evictions"]):
        assert dict(cluster.evictions) == expect["evictions"]


def test_nothing_runs_in_the_hole_that_the_first_victim_left() -> None:
    """Kept devices stay empty until the slower victim has left too."""
    cluster = play("staggered-exit-no-thrash")
    between = [seen for time, seen in cluster.seen.items() if 15 <= time < 70]
    assert between
    assert all("n1" not in nodes for seen in between for nodes in seen.running.values())


def test_scattered_victims_are_left_alone_and_the_small_job_evicts_one() -> None:
    """Two devices on two nodes help nobody who needs two on one; one of them helps who needs one."""
    cluster = play("no-useless-eviction-scattered")
    assert cluster.evictions in ({"l1": 1}, {"l2": 1})
    assert all(f"h{number}" in cluster.at(20).running for number in range(1, 7))


def test_a_full_rack_is_cleared_on_two_nodes_only() -> None:
    """Eight victims on two nodes of rack A; everyone else runs on."""
    cluster = play("packed-required-rack-can-be-cleared")
    nodes = cluster.at(10).running["H"]
    assert len(set(nodes)) == 2
    assert set(nodes) < {"a1", "a2", "a3"}
    assert cluster.at(10).pending == {f"{node}-{number}" for node in nodes for number in range(4)}


def test_one_victim_is_enough_beside_an_idle_node() -> None:
    """The idle node counts, so one of the two low jobs goes on."""
    cluster = play("gang-preemption-counts-idle-node")
    assert cluster.evictions in ({"L1": 1}, {"L3": 1})
    assert "n2" in cluster.at(10).running["H"]


def test_the_limit_of_the_parent_is_named() -> None:
    """The queue that binds is the parent's."""
    cluster = VirtualCluster(CASES["parent-limit-in-one-pass"])
    cluster.run(until=0)
    assert cluster.at(0).reasons["J2"] == "limit_now"
    assert cluster.at(0).usage["P"] == 4
