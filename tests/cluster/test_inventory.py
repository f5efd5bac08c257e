"""Taking in what the conductor says about the nodes, and what its silence says."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from cluster.errors import StaleEpoch
from cluster.models import Node, NodeState
from cluster.selectors import conductor_state, node_row, node_rows, supply, totals
from cluster.services import InventoryChange, cordon_node, mark_silent_nodes, remove_node
from cluster.tasks import sync_cluster
from tests.accounts.builders import NOW, Cast
from tests.cluster.builders import a_conductor, a_report, report

SILENCE = timedelta(seconds=10)
SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def conductor(db: None) -> None:
    """One is in charge."""
    a_conductor(NOW)


def test_new_nodes_come_and_count() -> None:
    """With all that was reported."""
    change = report(a_report("n1"), a_report("n2", num_accelerators=8), now=NOW)
    assert change == InventoryChange(came=frozenset({"n1", "n2"}))
    assert totals().num_accelerators == 12
    row = node_row("n2")
    assert (row.state, row.num_accelerators, row.metrics) == ("ready", 8, {"cpu_percent": 12.5})


def test_the_same_again_is_no_change() -> None:
    """Only the time of the last sign of life moves."""
    report(a_report("n1"), now=NOW)
    change = report(a_report("n1"), now=NOW + SECOND)
    assert (change.came, change.went) == (frozenset(), frozenset())
    node = Node.objects.get(name="n1")
    assert (node.state_changed_at, node.last_seen_at) == (NOW, NOW + SECOND)


def test_a_dead_node_is_shown_unreachable_with_its_reason_and_does_not_count() -> None:
    """In the cluster's words where it gave some."""
    report(a_report("n1"), a_report("n2"), now=NOW)
    dead = a_report("n2", alive=False, problem="health check failed: 5 missed beats")
    change = report(a_report("n1"), dead, now=NOW + SECOND)
    assert change.went == {"n2"}
    row = node_row("n2")
    assert (row.state, row.problem) == ("unreachable", "health check failed: 5 missed beats")
    assert (totals().num_nodes, totals().num_ready, totals().num_accelerators) == (2, 1, 4)
    assert row.last_seen_at == NOW


def test_a_dead_node_without_a_word_gets_our_own() -> None:
    """Translated when read."""
    report(a_report("n1", alive=False), now=NOW)
    assert node_row("n1").problem == "The cluster says that the node is dead."


def test_a_node_that_is_not_mentioned_is_gone() -> None:
    """Shown gone, and its slots leave the totals."""
    report(a_report("n1"), a_report("n2"), now=NOW)
    assert report(a_report("n1"), now=NOW + SECOND).went == {"n2"}
    assert node_row("n2").problem == "The node is not part of the cluster any more."
    assert totals().num_accelerators == 4
    assert report(a_report("n1"), now=NOW + 2 * SECOND).went == frozenset()
    assert Node.objects.get(name="n2").state_changed_at == NOW + SECOND


def test_a_node_that_returns_is_usable_again() -> None:
    """Under its stable name, with another Ray id."""
    report(a_report("n1"), now=NOW)
    report(now=NOW + SECOND)
    change = report(a_report("n1", ray_node_id="ray-new"), now=NOW + 2 * SECOND)
    assert change.came == {"n1"}
    node = Node.objects.get(name="n1")
    assert (node.state, node.problem, node.ray_node_id) == (NodeState.READY, "", "ray-new")
    assert node.first_seen_at == NOW


def test_a_restarted_node_beside_its_dead_predecessor_is_alive() -> None:
    """Ray lists both under one name."""
    dead, living = a_report("n1", alive=False, ray_node_id="old"), a_report("n1", ray_node_id="new")
    for reports in ((dead, living), (living, dead)):
        report(*reports, now=NOW)
        node = Node.objects.get(name="n1")
        assert (node.state, node.ray_node_id) == (NodeState.READY, "new")


def test_silence_makes_nodes_unreachable_exactly_after_the_limit() -> None:
    """Nobody speaks for them any more."""
    report(a_report("n1"), now=NOW)
    assert mark_silent_nodes(now=NOW + SILENCE, silence=SILENCE) == frozenset()
    assert mark_silent_nodes(now=NOW + SILENCE + SECOND, silence=SILENCE) == {"n1"}
    assert mark_silent_nodes(now=NOW + SILENCE + 2 * SECOND, silence=SILENCE) == frozenset()
    row = node_row("n1")
    assert row.state == "unreachable"
    assert row.problem.startswith("Nothing was heard of this node")
    assert totals().num_accelerators == 0


def test_a_node_that_others_outlive_is_silent_alone() -> None:
    """The conductor still speaks, of another node."""
    report(a_report("n1"), a_report("n2"), now=NOW - 2 * SILENCE)
    Node.objects.filter(name="n2").update(last_seen_at=NOW)
    assert mark_silent_nodes(now=NOW, silence=SILENCE) == {"n1"}


def test_the_next_heartbeat_ends_the_silence() -> None:
    """The node came back without having changed."""
    report(a_report("n1"), now=NOW)
    mark_silent_nodes(now=NOW + 2 * SILENCE, silence=SILENCE)
    assert report(a_report("n1"), now=NOW + 3 * SILENCE).came == {"n1"}


def test_the_task_applies_the_installations_limit(settings: Any) -> None:
    """Called by the clock."""
    report(a_report("n1"), now=timezone.now() - timedelta(seconds=settings.ENV.node_silence_seconds + 5))
    report_is_old = node_row("n1")
    sync_cluster()
    assert (report_is_old.state, node_row("n1").state) == ("ready", "unreachable")


def test_changed_amounts_are_no_coming_or_going_and_reach_the_engine() -> None:
    """A card broke."""
    report(a_report("n1"), now=NOW)
    change = report(a_report("n1", num_accelerators=3), now=NOW + SECOND)
    assert (change.came, change.went) == (frozenset(), frozenset())
    assert supply()[0].num_devices == 3


def test_a_cordoned_node_stays_cordoned_through_reports(cast: Cast) -> None:
    """Also through its own death."""
    report(a_report("n1"), now=NOW)
    cordon_node(user=cast.platform_admin, name="n1", reason="fans", now=NOW)
    report(a_report("n1", alive=False), now=NOW + SECOND)
    report(a_report("n1"), now=NOW + 2 * SECOND)
    row = node_row("n1")
    assert (row.cordoned, row.cordon_reason, row.state) == (True, "fans", "ready")


def test_a_removed_node_is_not_shown_until_it_comes_back(cast: Cast) -> None:
    """Dead reports of it change nothing."""
    report(a_report("n1"), now=NOW)
    report(now=NOW + SECOND)
    remove_node(user=cast.platform_admin, name="n1", now=NOW + SECOND)
    report(a_report("n1", alive=False), now=NOW + 2 * SECOND)
    assert node_rows() == []
    assert report(a_report("n1"), now=NOW + 3 * SECOND).came == {"n1"}
    assert [row.name for row in node_rows()] == ["n1"]


def test_an_older_conductors_inventory_changes_nothing() -> None:
    """Another one is in charge."""
    report(a_report("n1"), now=NOW)
    with pytest.raises(StaleEpoch) as refused:
        report(now=NOW + SECOND, epoch=0)
    assert refused.value.status == 409
    assert refused.value.message == ("Epoch 0 is not the present one (1): another conductor has taken over.")
    assert node_row("n1").state == "ready"


def test_the_conductors_own_record_is_kept() -> None:
    """Which attempts it holds, and whether it knows of all of them yet."""
    report(now=NOW + SECOND, attempts={"a1": "running"}, rebuilt=False)
    state = conductor_state()
    assert (state.epoch, state.last_seen_at) == (1, NOW + SECOND)
    assert (state.attempts, state.rebuilt) == ({"a1": "running"}, False)


def test_a_long_problem_is_cut() -> None:
    """A trace may come along."""
    report(a_report("n1", alive=False, problem="x" * 5000), now=NOW)
    assert node_row("n1").problem == "x" * 300


def test_an_inventory_of_a_thousand_nodes_takes_a_handful_of_queries(
    django_assert_max_num_queries: Any,
) -> None:
    """It comes every second."""
    reports = [a_report(f"n{number}") for number in range(1000)]
    report(*reports, now=NOW)
    with django_assert_max_num_queries(12):
        report(*reports, now=NOW + SECOND)
