"""What admins do with nodes."""

import pytest

from accounts.models import AuditEntry
from cluster.selectors import node_row, totals
from cluster.services import cordon_node, remove_node, uncordon_node
from refusals import Conflict, Forbidden, Invalid, NotFound
from tests.accounts.builders import NOW, Cast, client_of
from tests.cluster.builders import a_conductor, a_report, report


@pytest.fixture(autouse=True)
def nodes(cast: Cast) -> None:
    """One that is there, one that is gone."""
    a_conductor(NOW)
    report(a_report("n1"), a_report("n2", alive=False), now=NOW)


def test_a_cordoned_node_counts_and_takes_no_new_work(cast: Cast) -> None:
    """Until it is uncordoned; both are recorded."""
    cordon_node(user=cast.platform_admin, name="n1", reason=" 换风扇 ", address="10.0.0.1", now=NOW)
    assert (node_row("n1").is_usable, node_row("n1").cordon_reason) == (False, "换风扇")
    assert totals().num_accelerators == 4
    uncordon_node(user=cast.platform_admin, name="n1", now=NOW)
    assert (node_row("n1").is_usable, node_row("n1").cordon_reason) == (True, "")
    entries = list(AuditEntry.objects.order_by("id").values_list("action", "object_id", "data"))
    assert entries == [("node_cordoned", "n1", {"reason": "换风扇"}), ("node_uncordoned", "n1", {})]


@pytest.mark.parametrize("role", ["team_admin", "owner", "viewer"])
def test_only_platform_admins_decide_about_nodes(cast: Cast, role: str) -> None:
    """Everybody else is told so."""
    user = getattr(cast, role)
    with pytest.raises(Forbidden) as refused:
        cordon_node(user=user, name="n1", reason="", now=NOW)
    assert "(manage the platform)" in refused.value.message
    with pytest.raises(Forbidden):
        uncordon_node(user=user, name="n1", now=NOW)
    with pytest.raises(Forbidden):
        remove_node(user=user, name="n2", now=NOW)


def test_a_node_that_there_is_not_is_not_found(cast: Cast) -> None:
    """By its name."""
    with pytest.raises(NotFound) as refused:
        cordon_node(user=cast.platform_admin, name="n9", reason="", now=NOW)
    assert refused.value.message.startswith("There is no node “n9”")


@pytest.mark.parametrize("reason", ["x" * 301, "a\nb", "a\0b"])
def test_a_reason_is_one_printable_line(cast: Cast, reason: str) -> None:
    """It is shown to everybody."""
    with pytest.raises(Invalid) as refused:
        cordon_node(user=cast.platform_admin, name="n1", reason=reason, now=NOW)
    assert [item.path for item in refused.value.details] == ["reason"]


def test_a_node_in_the_cluster_cannot_be_removed(cast: Cast) -> None:
    """It would come back with the next heartbeat."""
    with pytest.raises(Conflict) as refused:
        remove_node(user=cast.platform_admin, name="n1", now=NOW)
    assert refused.value.message.endswith("the node is in the cluster; stop it first.")


def test_over_rest(cast: Cast) -> None:
    """A node that is gone can be forgotten, once and by platform admins."""
    api = client_of(cast.platform_admin)
    assert client_of(cast.owner).delete("/api/v1/nodes/n2").status_code == 403
    assert api.delete("/api/v1/nodes/n2").status_code == 204
    assert api.delete("/api/v1/nodes/n2").status_code == 404
    assert api.delete("/api/v1/nodes/n1").status_code == 409
