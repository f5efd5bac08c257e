"""Where a gang goes on an otherwise quiet cluster."""

import pytest

from scheduling.amounts import shape_of
from scheduling.model import LINK_LEVEL, Job, Node, Packing, Policy, TopologyRule
from scheduling.placement import take_devices
from tests.scheduling.building import job, node, on, plan, preferred, required, running, shown, started

RACKS = [
    node("a1", rack="a"),
    node("a2", rack="a"),
    node("b1", rack="b"),
    node("b2", rack="b"),
    node("b3", rack="b"),
]
SPLIT = node("n1", 8, links=("l0",) * 4 + ("l1",) * 4)
BUSY_A1 = running(job("busy", 2), "a1:0,1")

PLACES: dict[str, tuple[list[Node], list[Job], Job, str]] = {
    "one worker fills the hole that it leaves smallest": (RACKS, [BUSY_A1], job("j", 2), "a1:2,3"),
    "a gang that fits on one node stays on it": (RACKS, [], job("j", 1, workers=4), "a1:0 a1:1 a1:2 a1:3"),
    "a gang of two nodes stays in the smaller rack": (
        RACKS,
        [],
        job("j", 4, workers=2),
        "a1:0,1,2,3 a2:0,1,2,3",
    ),
    "a gang of three nodes takes the rack that holds it": (
        RACKS,
        [],
        job("j", 4, workers=3),
        "b1:0,1,2,3 b2:0,1,2,3 b3:0,1,2,3",
    ),
    "a gang larger than a rack takes the larger one whole": (
        RACKS,
        [],
        job("j", 4, workers=4),
        "a1:0,1,2,3 b1:0,1,2,3 b2:0,1,2,3 b3:0,1,2,3",
    ),
    "a required rack that is full is not left for a nearer place": (
        [node("a1", 2, rack="a"), node("a2", 2, rack="a"), node("b1", rack="b")],
        [running(job("busy", 1), "b1:0")],
        job("j", 1, workers=4, topology=required("rack")),
        "a1:0 a1:1 a2:0 a2:1",
    ),
    "a wish that cannot be met is dropped": (
        [node("a1", 2, rack="a"), node("b1", 2, rack="b")],
        [],
        job("j", 2, workers=2, topology=preferred("rack")),
        "a1:0,1 b1:0,1",
    ),
    "any label is a level": (
        [
            node("n1", domains={"pod": "p"}),
            node("n2", domains={"pod": "q"}),
            node("n3", domains={"pod": "q"}),
        ],
        [],
        job("j", 4, workers=2, topology=required("pod")),
        "n2:0,1,2,3 n3:0,1,2,3",
    ),
    "racks of one name in two zones are two racks": (
        [
            node("n1", zone="z1", rack="r"),
            node("n2", zone="z2", rack="r"),
            node("n3", zone="z2", rack="r"),
        ],
        [],
        job("j", 4, workers=2, topology=required("rack")),
        "n2:0,1,2,3 n3:0,1,2,3",
    ),
    "a worker stays inside one link domain": (
        [SPLIT],
        [running(job("busy", 2), "n1:0,1")],
        job("j", 3),
        "n1:4,5,6",
    ),
    "the fuller link domain is taken if it suffices": (
        [SPLIT],
        [running(job("busy", 2), "n1:0,1")],
        job("j", 2),
        "n1:2,3",
    ),
    "a worker larger than a link domain takes both": ([SPLIT], [], job("j", 6), "n1:0,1,2,3,4,5"),
    "a gang is kept inside the link domain that it requires": (
        [SPLIT],
        [running(job("busy", 1), "n1:0")],
        job("j", 2, workers=2, topology=required(LINK_LEVEL)),
        "n1:4,5 n1:6,7",
    ),
    "devices without a link are outside every link domain": (
        [node("n1", links=("", "l0", "l0", ""))],
        [],
        job("j", 1, workers=2, topology=required(LINK_LEVEL)),
        "n1:1 n1:2",
    ),
    "a link domain may span nodes": (
        [node("n1", links=("s1",) * 4), node("n2", links=("s2",) * 4), node("n3", links=("s2",) * 4)],
        [],
        job("j", 4, workers=2, topology=required(LINK_LEVEL)),
        "n2:0,1,2,3 n3:0,1,2,3",
    ),
    "a job without accelerators leaves those nodes alone": (
        [node("gpu"), node("zcpu", 0)],
        [],
        job("j", 0, workers=2, cpus_milli=1000),
        "zcpu: zcpu:",
    ),
    "processors are counted": (
        [node("n1", cpus_milli=4000), node("n2", cpus_milli=8000)],
        [],
        job("j", 1, workers=2, cpus_milli=3000),
        "n2:0 n2:1",
    ),
    "memory is counted": (
        [node("n1", memory_bytes=10), node("n2", memory_bytes=20)],
        [],
        job("j", 1, memory_bytes=11),
        "n2:0",
    ),
    "the first type that fits is taken": (
        [node("n1"), node("n2", accelerator_type="y")],
        [],
        job("j", 1, types=("z", "y", "x")),
        "n2:0",
    ),
    "a gang stays on one type": (
        [node("n1", 2), node("n2", 2), node("n3", accelerator_type="y"), node("n4", accelerator_type="y")],
        [],
        job("j", 3, workers=2),
        "n3:0,1,2 n4:0,1,2",
    ),
    "a node that cannot be used is not": ([node("n1", usable=False), node("n2")], [], job("j"), "n2:0"),
    "a part of a device goes where least is left": (
        [node("n1"), node("n2")],
        [running(job("busy", 0.5), "n2:3")],
        job("j", 0.5),
        "n2:3",
    ),
    "a part that does not fit beside another takes a new device": (
        [node("n1", 2)],
        [running(job("busy", 0.6), "n1:0")],
        job("j", 0.5),
        "n1:1",
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_place(name: str) -> None:
    """The gang goes where its sentence says."""
    nodes, busy, row, place = PLACES[name]
    assert started(plan(nodes, [*busy, row])) == {"j": place}


def test_spreading_takes_the_emptiest_nodes() -> None:
    """One worker on each node rather than all on one."""
    result = plan([node("n1"), node("n2")], [job("j", 1, workers=2)], policy=Policy(packing=Packing.SPREAD))
    assert started(result) == {"j": "n1:0 n2:0"}


def test_spreading_still_honours_a_wish() -> None:
    """Inside the preferred rack, then over its nodes."""
    row = job("j", 1, workers=2, topology=(TopologyRule(level="rack", preferred=True),))
    assert started(plan(RACKS, [row], policy=Policy(packing=Packing.SPREAD))) == {"j": "b1:0 b2:0"}


def test_ranks_follow_the_topology() -> None:
    """Neighbouring ranks are near each other, whatever the nodes are called."""
    nodes = [
        node("n1", 2, rack="b"),
        node("n2", 2, rack="a"),
        node("n3", 2, rack="b"),
        node("n4", 2, rack="a"),
    ]
    result = plan(nodes, [job("j", 2, workers=4)])
    assert [worker.node for worker in result.starts[0].placement] == ["n2", "n4", "n1", "n3"]


def test_the_type_of_a_start_is_named() -> None:
    """A job on accelerators is told their type, one without is told none."""
    result = plan([node("n1")], [job("j", 1), job("k", 0)])
    assert {start.job: start.accelerator_type for start in result.starts} == {"j": "x", "k": ""}


def test_devices_that_are_promised_twice_are_not_free() -> None:
    """What is below zero is as good as taken."""
    room = [-1000, 1000, 0]
    assert take_devices(room, [0, 0, 0], shape_of(job("j", 1))) == (1,)
    assert room == [-1000, 0, 0]


def test_a_placement_reads_as_it_was_written() -> None:
    """The tests' own notation is exact."""
    assert shown(on("n1:0,1", "n2:")) == "n1:0,1 n2:"
