"""Fragmentation against a naive count, node by node, shape by shape, device by device."""

from dataclasses import replace
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.amounts import Kind, Shape
from scheduling.fragmentation import (
    IMPOSSIBLE,
    NO_DEVICE,
    Gradients,
    Mix,
    Room,
    best_unit,
    fragmentation,
    leaves_awkward_rest,
    loss,
    profile_of,
    stranded,
)
from scheduling.least_loss import LeastLoss, mix_of
from scheduling.supply import Free, Supply
from tests.scheduling.building import node

GIB = 1 << 30
TYPES = ("A", "B")
Weighted = tuple[Kind, int]


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Parts, whole devices, several of them, or processors alone."""
    num_devices, milli = draw(st.sampled_from([(0, 0), (1, 300), (1, 500), (1, 810), (1, 1000), (2, 1000)]))
    cpus, memory = draw(st.sampled_from([0, 1000, 4000])), draw(st.sampled_from([0, 1, 4])) * GIB
    return Shape(num_devices, milli, max(cpus, 0 if num_devices else 1000), memory)


kinds = st.builds(
    lambda shape, types: Kind(shape=shape, types=types, required=()),
    shapes(),
    st.sampled_from([(), ("A",), ("B",)]),
)
mixes = st.lists(st.tuples(kinds, st.integers(1, 9)), min_size=1, max_size=6)


@st.composite
def rooms(draw: st.DrawFn) -> Room:
    """Up to four nodes with up to three devices, in any state."""
    devices = st.lists(st.sampled_from([0, 190, 300, 500, 700, 1000]), min_size=3, max_size=3)
    num = draw(st.integers(1, 4))
    return Room(
        devices=np.array([draw(devices) for _ in range(num)]),
        cpus=np.array([draw(st.sampled_from([0, 1000, 3000, 9000])) for _ in range(num)]),
        memory=np.array([draw(st.sampled_from([0, 2, 8])) * GIB for _ in range(num)]),
        type_of=np.array([draw(st.integers(0, 1)) for _ in range(num)]),
    )


def holds(devices: list[int], cpus: int, memory: int, shape: Shape) -> bool:
    """Whether a worker fits."""
    enough = sum(milli >= shape.device_milli for milli in devices) >= shape.num_devices
    return enough and cpus >= shape.cpus_milli and memory >= shape.memory_bytes


def naive_fragmentation(room: Room, row: int, mix: list[Weighted]) -> int:
    """What each shape of the mix could not use of this node."""
    devices, lost = room.devices[row].tolist(), 0
    for kind, weight in mix:
        shape = kind.shape
        able = holds(devices, int(room.cpus[row]), int(room.memory[row]), shape) and shape.num_devices > 0
        able = able and (not kind.types or TYPES[room.type_of[row]] in kind.types)
        useless = [milli for milli in devices if not able or milli < shape.device_milli]
        lost += weight * sum(useless)
    return lost


def naive_loss(room: Room, row: int, mix: list[Weighted]) -> int:
    """The same with the devices that cores and memory cannot feed."""
    free, total = int(room.devices[row].sum()), sum(weight for _, weight in mix)
    on_devices = [(kind.shape, weight) for kind, weight in mix if kind.shape.num_devices]
    milli = sum(weight * shape.num_devices * shape.device_milli for shape, weight in on_devices)
    cpus = sum(weight * shape.cpus_milli for shape, weight in on_devices)
    memory = sum(weight * shape.memory_bytes for shape, weight in on_devices)
    fed = free
    if cpus:
        fed = min(fed, int(room.cpus[row]) * milli // cpus)
    if memory:
        fed = min(fed, int(room.memory[row]) * milli // memory)
    return naive_fragmentation(room, row, mix) + total * (free - fed)


def states_after(room: Room, row: int, shape: Shape) -> dict[int, Room]:
    """What the node can come to, by the device shared (`NO_DEVICE`: any whole ones, all the same)."""
    devices, found = room.devices[row].tolist(), dict[int, Room]()
    if not holds(devices, int(room.cpus[row]), int(room.memory[row]), shape):
        return found
    able = [index for index, milli in enumerate(devices) if milli >= shape.device_milli]
    for chosen in combinations(able, shape.num_devices):
        left = [milli - shape.device_milli * (index in chosen) for index, milli in enumerate(devices)]
        after = Room(
            devices=np.array([left]),
            cpus=room.cpus[row : row + 1] - shape.cpus_milli,
            memory=room.memory[row : row + 1] - shape.memory_bytes,
            type_of=room.type_of[row : row + 1],
        )
        found.setdefault(chosen[0] if shape.is_fraction else NO_DEVICE, after)
    return found


def mix_from(mix: list[Weighted]) -> Mix:
    """The engine's form of it."""
    return Mix.of([kind for kind, _ in mix], [weight for _, weight in mix], types=TYPES)


@given(rooms(), mixes)
def test_fragmentation_and_loss_are_those_counted_naively(room: Room, mix: list[Weighted]) -> None:
    """On every node, for any mix."""
    profile = profile_of(room, mix_from(mix))
    for row in range(len(room.cpus)):
        assert fragmentation(profile, mix_from(mix))[row] == naive_fragmentation(room, row, mix)
        assert loss(profile, mix_from(mix))[row] == naive_loss(room, row, mix)


@given(rooms(), mixes, shapes())
def test_the_increase_is_the_least_of_all_ways_to_place_the_worker(
    room: Room, mix: list[Weighted], shape: Shape
) -> None:
    """And the device given is one with which it comes about."""
    increase, device = Gradients(room, mix_from(mix)).of(shape)
    for row in range(len(room.cpus)):
        before = naive_loss(room, row, mix)
        grown = {at: naive_loss(s, 0, mix) - before for at, s in states_after(room, row, shape).items()}
        if not grown:
            assert increase[row] == IMPOSSIBLE
        else:
            assert increase[row] == min(grown.values())
            assert grown[int(device[row])] == min(grown.values())


@given(rooms(), mixes, shapes())
def test_the_best_unit_is_the_first_with_the_least_increase(
    room: Room, mix: list[Weighted], shape: Shape
) -> None:
    """Asked once, or of gradients that are kept."""
    nodes, gradients = np.arange(len(room.cpus)), Gradients(room, mix_from(mix))
    increase = gradients.of(shape)[0]
    found = best_unit(room, shape, nodes, mix_from(mix))
    assert found == gradients.best(shape, nodes)
    assert (found is None) == bool((increase == IMPOSSIBLE).all())
    assert found is None or found[0] == int(np.argmin(increase))


@settings(max_examples=50)
@given(rooms(), mixes, st.lists(shapes(), min_size=1, max_size=8))
def test_gradients_that_are_kept_are_those_reckoned_anew(
    room: Room, mix: list[Weighted], arrivals: list[Shape]
) -> None:
    """After each placement, for every shape that was ever asked for."""
    kept, nodes = Gradients(room, mix_from(mix)), np.arange(len(room.cpus))
    for shape in arrivals:
        found = kept.best(shape, nodes)
        if found is not None:
            after = states_after(room, found[0], shape)[found[1]]
            room.devices[found[0]] = after.devices[0]
            room.cpus[found[0]], room.memory[found[0]] = after.cpus[0], after.memory[0]
            kept.changed(np.array([found[0]]))
        anew = Gradients(room, mix_from(mix))
        for other in arrivals:
            assert np.array_equal(kept.of(other)[0], anew.of(other)[0])


def one_node(devices: list[int], *, cpus: int, memory: int = 64) -> Room:
    """A single node."""
    rows = np.array([devices]), np.array([cpus]), np.array([memory * GIB]), np.array([0])
    return Room(*rows)


def test_devices_without_the_cores_to_feed_them_are_stranded() -> None:
    """Four free devices and the cores of one worker: the published measure sees no loss, ours sees three."""
    mix = Mix.of([Kind(shape=Shape(1, 1000, 12_000, 0), types=(), required=())], [1])
    profile = profile_of(one_node([1000] * 4, cpus=12_000), mix)
    assert fragmentation(profile, mix).tolist() == [0]
    assert stranded(profile, mix).tolist() == [3000]


def test_a_rest_that_hardly_anybody_can_use_is_awkward() -> None:
    """190 milli for one in a hundred; half a device for a third."""
    sizes = {810: 60, 500: 39, 160: 1}
    kinds = [Kind(shape=Shape(1, milli, 1000, 0), types=(), required=()) for milli in sizes]
    mix = Mix.of(kinds, list(sizes.values()))
    assert leaves_awkward_rest(Shape(1, 810, 1000, 0), mix, share=0.05)
    assert not leaves_awkward_rest(Shape(1, 500, 1000, 0), mix, share=0.05)
    assert not leaves_awkward_rest(Shape(1, 1000, 1000, 0), mix, share=0.05)


def test_kinds_that_differ_in_places_alone_are_one_shape_of_the_mix() -> None:
    """Their workers are added up, and those of nobody are left out."""
    plain = Kind(shape=Shape(1, 1000, 1000, GIB), types=(), required=())
    bound, gone = replace(plain, required=("rack",)), replace(plain, shape=Shape(2, 1000, 0, 0))
    mix = mix_of({plain: 3, bound: 4, gone: 0}, supply=Supply([node("n1")], levels=("node",)))
    assert mix.weight.tolist() == [7]
    assert mix.total == 7


def test_several_workers_on_one_node_are_placed_as_one() -> None:
    """Two workers of two devices go where four fit and nothing is stranded; parts of several have no say."""
    supply = Supply([node("n1", num_devices=8), node("n2", num_devices=4)], levels=("node",))
    free: Free = supply.capacity(only_usable=True)
    mix = Mix.of([Kind(shape=Shape(8, 1000, 0, 0), types=(), required=())], [1], types=supply.types)
    nodes, chooser = np.arange(2), LeastLoss(supply, lambda: mix)
    assert chooser.best_node(free, Shape(2, 1000, 0, 0), num_workers=2, nodes=nodes) == (1, NO_DEVICE)
    assert chooser.best_node(free, Shape(1, 500, 0, 0), num_workers=2, nodes=nodes) is None


@settings(max_examples=50)
@given(rooms(), mixes, st.lists(shapes(), min_size=2, max_size=8))
def test_an_account_that_is_asked_about_again_is_kept_in_step(
    room: Room, mix: list[Weighted], arrivals: list[Shape]
) -> None:
    """Each answer is the one that a fresh reckoning gives."""
    names = [node(f"n{number}", 3, accelerator_type=TYPES[at]) for number, at in enumerate(room.type_of)]
    names.append(node("n8", 3, accelerator_type="A"))
    names.append(node("n9", 3, accelerator_type="B"))
    supply = Supply(names, levels=("node",))
    free: Free = supply.capacity(only_usable=True)
    for row in range(len(room.cpus)):
        free.devices[row], free.cpus[row], free.memory[row] = (
            room.devices[row],
            room.cpus[row],
            room.memory[row],
        )
    nodes, chooser = np.arange(len(names)), LeastLoss(supply, lambda: mix_from(mix))
    for shape in arrivals:
        now = Room(free.devices, free.cpus, free.memory, supply.type_of)
        found = chooser.best_node(free, shape, num_workers=1, nodes=nodes)
        assert found == best_unit(now, shape, nodes, mix_from(mix))
        if found is not None:
            after = states_after(now, found[0], shape)[found[1]]
            free.devices[found[0]] = after.devices[0]
            free.cpus[found[0]], free.memory[found[0]] = after.cpus[0], after.memory[0]
            free.recount(np.array([found[0]]))
