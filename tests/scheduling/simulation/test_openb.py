"""The openb experiment: its published figures, our own, and that the engine does what the rule says."""

from pathlib import Path

import numpy as np
import pytest

from scheduling.amounts import Shape
from scheduling.fragmentation import NO_DEVICE, Gradients, Mix, Room
from scheduling.model import Packing
from scheduling.simulation.openb import (
    PUBLISHED,
    TRACE,
    WORKLOADS,
    Setting,
    fill,
    patience_for,
    rows,
    whole_mix,
)
from scheduling.simulation.openb_engine import ByEngine
from scheduling.simulation.openb_filling import Filling, Patience
from scheduling.simulation.openb_rules import ByGradient, rule_of, take
from scheduling.simulation.openb_trace import (
    NodeRow,
    Trace,
    arrivals,
    kind_of,
    node_order,
    published_mix,
    read,
    room_of,
)
from scheduling.simulation.traces import ReplayOptions

TRACES = Path(__file__).parents[4] / "shared" / "traces"
SEEDS = (42, 43)
GIB = 1 << 30


@pytest.fixture(scope="module")
def trace() -> Trace:
    """The trace on the nodes of the published experiment."""
    return read(TRACES / "openb")


def test_the_trace_is_the_published_one(trace: Trace) -> None:
    """1,523 nodes, 1,213 of them with accelerators; 6,212 devices; 8,152 tasks."""
    assert len(trace.nodes) == 1213
    assert len(read(TRACES / "openb", with_cpu_nodes=True).nodes) == 1523
    assert trace.capacity_milli == 6_212_000
    assert len(trace.tasks) == 8152


def test_arrivals_ask_for_130_percent_of_the_devices(trace: Trace) -> None:
    """Every task once, then drawn ones; another seed, another order."""
    order = arrivals(trace, seed=42)
    asked = int(trace.demand_milli()[order].sum())
    assert 1.299 * trace.capacity_milli < asked <= 1.302 * trace.capacity_milli
    assert sorted(order[:8152].tolist()) == sorted(trace.tasks.tolist())
    assert order.tolist() != arrivals(trace, seed=43).tolist()


def test_best_fit_and_fragmentation_gradient_come_out_as_published(trace: Trace) -> None:
    """Within half a point of the published means, on two of their ten seeds."""
    for policy in ("best_fit", "fgd"):
        found = [fill(trace, Setting(policy=policy, seed=seed)).allocated_percent for seed in SEEDS]
        assert np.mean(found) == pytest.approx(PUBLISHED[policy], abs=0.5)


def test_our_rule_allocates_more_than_the_published_one(trace: Trace) -> None:
    """At once, and more yet where awkward parts may wait; how long is told."""
    at_once = fill(trace, Setting(policy="ours"))
    patient = fill(trace, Setting(policy="ours_patient"))
    assert at_once.allocated_percent >= 95.8
    assert patient.allocated_percent >= 96.5
    assert patient.waited and patient.longest_wait <= 4000
    assert not at_once.waited and at_once.longest_wait == 0


def small(trace: Trace, *, num_nodes: int) -> Trace:
    """A part of the cluster for the same tasks: every so many nodes, so that all models are there."""
    step = len(trace.nodes) // num_nodes
    return Trace(trace.nodes[::step][:num_nodes], trace.shapes, trace.tasks)


def test_the_engine_takes_the_choices_of_the_rule(trace: Trace) -> None:
    """The rule with the mix of what waits or runs, on 40 nodes, until long after they are full."""
    part = small(trace, num_nodes=40)
    nodes = node_order(part, seed=42)
    engine, room, held = ByEngine(nodes), room_of(nodes), dict[Shape, int]()
    order = np.random.default_rng(7).permutation(part.tasks)[:450].tolist()
    num_placed = 0
    for shape in (part.shapes[at] for at in order):
        expected = held | {shape: held.get(shape, 0) + 1}
        mix = Mix.of([kind_of(each) for each in expected], list(expected.values()))
        by_rule = ByGradient(Gradients(room, mix), len(nodes)).choose(shape)
        assert engine.choose(shape) == by_rule
        if by_rule is not None:
            take(room, shape, *by_rule)
            engine.taken(by_rule[0])
            held, num_placed = expected, num_placed + 1
    assert 200 < num_placed < 440


def test_packing_against_fragmentation_allocates_more_than_consolidating(trace: Trace) -> None:
    """The engine on 40 nodes, under either packing."""
    part = small(trace, num_nodes=40)
    nodes = node_order(part, seed=42)
    order = np.random.default_rng(8).permutation(part.tasks)[:450].tolist()
    allocated = {
        packing: Filling(room_of(nodes), ByEngine(nodes, packing=packing))
        .run(part.shapes[at] for at in order)
        .allocated_percent
        for packing in (Packing.FRAGMENTATION, Packing.CONSOLIDATE)
    }
    assert allocated[Packing.FRAGMENTATION] > allocated[Packing.CONSOLIDATE]


def device_rooms(num_devices: int) -> tuple[Room, Mix]:
    """One node with cores for everybody, and a mix of parts of a device."""
    room = room_of([NodeRow("n", 1_000_000, 1000 * GIB, num_devices, "x")])
    return room, Mix.of([kind_of(Shape(1, milli, 1000, GIB)) for milli in (810, 160)], [99, 1])


AWKWARD, SMALL, WHOLE = Shape(1, 810, 1000, GIB), Shape(1, 160, 1000, GIB), Shape(1, 1000, 1000, GIB)


def test_an_awkward_part_waits_for_a_device_that_is_shared() -> None:
    """It comes first, waits while devices are scarce, and joins the small part that comes third."""
    room, mix = device_rooms(2)
    patience = Patience(shapes=frozenset({AWKWARD}), idle_share=1.1, num_arrivals=100)
    outcome = Filling(room, rule_of("ours", room, mix=mix, seed=0), patience=patience).run(
        [AWKWARD, WHOLE, SMALL, WHOLE]
    )
    assert outcome.placed_at == [3, 1, 2, None]
    assert sorted(room.devices[0].tolist()) == [0, 30]
    assert outcome.longest_wait == 3


def test_nobody_waits_longer_than_allowed() -> None:
    """After two arrivals it takes a whole device; without patience it does so at once."""
    for num_arrivals, placed in ((2, [2, 1, None]), (None, [0, 1, None])):
        room, mix = device_rooms(2)
        patience = num_arrivals and Patience(
            shapes=frozenset({AWKWARD}), idle_share=1.1, num_arrivals=num_arrivals
        )
        rule = rule_of("ours", room, mix=mix, seed=0)
        outcome = Filling(room, rule, patience=patience or None).run([AWKWARD, WHOLE, WHOLE])
        assert outcome.placed_at == placed


def test_whole_devices_are_taken_in_order_and_parts_where_told() -> None:
    """A task's share of the room."""
    room, _ = device_rooms(3)
    take(room, Shape(1, 300, 1000, GIB), 0, 1)
    take(room, Shape(2, 1000, 1000, GIB), 0, NO_DEVICE)
    assert room.devices.tolist() == [[0, 700, 0]]
    assert room.cpus.tolist() == [998_000]


def test_only_parts_that_leave_a_rest_of_little_use_may_wait(trace: Trace) -> None:
    """On this trace that is 810 milli: what is left of a device suits one task in a hundred."""
    patience = patience_for(trace, whole_mix(trace))
    assert {shape.device_milli for shape in patience.shapes} == {810}


def test_the_published_mix_is_cut_at_its_popularity(trace: Trace) -> None:
    """The commonest shapes with devices that, with those without, make up 95 % of the tasks."""
    mix = published_mix(trace)
    assert 0.95 * 8152 <= mix.total < 0.96 * 8152
    assert len(mix.weight) < len(whole_mix(trace).weight)


@pytest.mark.parametrize("policy", TRACE.policies)
def test_every_policy_replays_from_the_command_line_s_options(policy: str) -> None:
    """The first 60 arrivals on either cluster; all of them find a place."""
    for workload in WORKLOADS:
        options = ReplayOptions(policy=policy, workload=workload, seed=42, max_jobs=60)
        result = TRACE.run(TRACES, options)
        assert result["num_placed"] == 60
        assert result["policy"] == policy
        assert isinstance(result["metrics"], dict)


def test_the_table_s_rows_name_bar_and_published_figure() -> None:
    """One row for a policy that is published, two for one that waits."""
    found = rows(TRACES, policies=("best_fit", "ours_patient"), seeds=(42,))
    assert [(row.policy, row.metric) for row in found] == [
        ("best_fit", "devices allocated"),
        ("ours_patient", "devices allocated"),
        ("ours_patient", "longest wait"),
    ]
    assert found[0].published == PUBLISHED["best_fit"] and found[0].met is None
    assert found[1].bar == 96.5 and found[1].met
