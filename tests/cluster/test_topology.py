"""Where nodes are, and the tree that they form."""

import pytest

from cluster.selectors import node_row, supply, topology_tree, totals
from cluster.services import cordon_node
from cluster.topology import Place, domains_of, links_of, tree_of
from tests.accounts.builders import NOW, Cast
from tests.cluster.builders import a_conductor, a_report, report

LEVELS = ("zone", "rack", "node")


def labels(zone: str, rack: str) -> dict[str, str]:
    """Of a node there."""
    return {"gangline.zone": zone, "gangline.rack": rack}


def test_a_domain_is_named_by_its_whole_way() -> None:
    """Two zones may both have a rack 1."""
    first = domains_of("n1", labels("z1", "r1"), LEVELS)
    second = domains_of("n2", labels("z2", "r1"), LEVELS)
    assert first == {"zone": "z1", "rack": "z1/r1", "node": "n1"}
    assert first["rack"] != second["rack"]


def test_a_node_without_labels_is_alone() -> None:
    """It is near nothing that is known."""
    assert domains_of("n1", {}, LEVELS) == {"zone": "n1", "rack": "n1/n1", "node": "n1"}


def test_levels_are_the_installations() -> None:
    """Any label can be one."""
    domains = domains_of("n1", {"gangline.spine": "s4"}, ("spine", "node"))
    assert domains == {"spine": "s4", "node": "n1"}


def test_devices_share_the_nodes_link_domain_or_the_labels() -> None:
    """A supernode spans several nodes."""
    assert links_of("n1", {}, 2) == ("n1", "n1")
    assert links_of("n1", {"gangline.link": "supernode-1"}, 2) == ("supernode-1", "supernode-1")


def test_the_tree_adds_up_what_is_usable() -> None:
    """A lost node is shown and counts nothing."""
    places = [
        Place(
            name=name,
            domains=domains_of(name, labels("z1", rack), LEVELS),
            num_accelerators=4,
            num_used=used,
            is_usable=usable,
        )
        for name, rack, used, usable in (("n1", "a", 4, True), ("n2", "a", 1, False), ("n3", "b", 1, True))
    ]
    (zone,) = tree_of(places, LEVELS)
    assert (zone.name, zone.num_nodes, zone.num_accelerators, zone.num_used) == ("z1", 3, 8, 5)
    racks = [(rack.name, rack.num_nodes, rack.num_accelerators) for rack in zone.children]
    assert racks == [("z1/a", 2, 4), ("z1/b", 1, 4)]
    assert [node.name for node in zone.children[0].children] == ["n1", "n2"]


def test_a_tree_of_nothing_is_empty() -> None:
    """Before the first node."""
    assert tree_of([], LEVELS) == ()


@pytest.mark.django_db
def test_the_engine_gets_every_node_and_learns_which_take_new_work(cast: Cast) -> None:
    """Unreachable and cordoned ones keep what they hold."""
    a_conductor(NOW)
    report(a_report("n1"), a_report("n2"), a_report("n3", alive=False, accelerator_type="h100"), now=NOW)
    cordon_node(user=cast.platform_admin, name="n2", reason="", now=NOW)
    nodes = {node.name: node for node in supply()}
    assert {name: node.usable for name, node in nodes.items()} == {"n1": True, "n2": False, "n3": False}
    first = next(iter(nodes.values()))
    assert first.domains == {"zone": "z1", "rack": "z1/rack-a", "node": "n1"}
    assert (first.links, first.num_devices, first.cpus_milli) == (("n1",) * 4, 4, 8000)


@pytest.mark.django_db
def test_numbers_know_what_is_in_use(cast: Cast) -> None:
    """Which the jobs say; a cordoned node's free devices are not free."""
    a_conductor(NOW)
    report(a_report("n1"), a_report("n2"), a_report("n3", alive=False), now=NOW)
    cordon_node(user=cast.platform_admin, name="n2", reason="", now=NOW)
    used = {"n1": {2, 0, 1}, "n2": {3}, "n3": {0}}
    numbers = totals(used)
    assert (numbers.num_nodes, numbers.num_ready, numbers.num_cordoned) == (3, 2, 1)
    assert (numbers.num_accelerators, numbers.num_used, numbers.num_free) == (8, 4, 1)
    assert (numbers.by_type, numbers.cpus_milli, numbers.memory_bytes) == ({"slot": 8}, 16_000, 2**31)
    (zone,) = topology_tree(used)
    assert (zone.name, zone.num_accelerators, zone.num_used) == ("z1", 8, 4)
    assert zone.children[0].children[0].name == "n1"
    assert node_row("n1", used["n1"]).devices_used == (0, 1, 2)
