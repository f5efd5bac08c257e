"""How much of what is free is of no use to the jobs that come, and what placing one worker adds to that.

Expected fragmentation is the measure of Weng et al., "Beware of Fragmentation", USENIX ATC'23, section 4:
what a worker drawn from the mix of shapes could not use of a node's free devices. To it we add devices
*stranded*: beyond those that the node's free cores and memory can feed at the mix's mean need for each. The
measure alone sees no loss in four free devices with the cores of one worker; stranding does.

Amounts are milli-devices times the mix's total weight: integers, so that neither rounding nor the order of
the rows decides.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.amounts import DEVICE_MILLI, Kind, Shape
from scheduling.supply import BoolArray, IntArray

NO_DEVICE = -1
IMPOSSIBLE = np.iinfo(np.int64).max
_MEMORY_UNIT_BITS = 20  # memory in MiB: products with weights stay below 2**63


@dataclass(frozen=True, slots=True)
class Mix:
    """The shapes to be expected, with their popularity. One entry per shape that takes devices; shapes that
    take none count in `total` only (all free devices are lost on them, wherever).
    """

    num_devices: IntArray
    size: IntArray  # of each shape, an index into `sizes`
    cpus: IntArray
    memory: IntArray  # MiB, rounded up
    allowed: BoolArray  # [shape, type]
    weight: IntArray
    sizes: IntArray  # the different parts of a device asked for, in milli
    total: int
    devices_milli: int  # weighted sums: the mean need for each device is their ratio
    cpus_milli: int
    memory_mib: int

    @classmethod
    def of(cls, kinds: Sequence[Kind], weights: Sequence[int], *, types: tuple[str, ...] = ()) -> "Mix":
        """The mix of these kinds; `types` are the cluster's accelerator types in the order of `type_of`."""
        rows = [(kind, weight) for kind, weight in zip(kinds, weights, strict=True) if kind.shape.num_devices]
        shapes = [kind.shape for kind, _ in rows]
        sizes, size = np.unique(_column(shape.device_milli for shape in shapes), return_inverse=True)
        num_devices = _column(shape.num_devices for shape in shapes)
        cpus = _column(shape.cpus_milli for shape in shapes)
        memory = _column(-(-shape.memory_bytes >> _MEMORY_UNIT_BITS) for shape in shapes)
        weight = _column(weight for _, weight in rows)
        columns = types or ("",)
        allowed = [[not kind.types or name in kind.types for name in columns] for kind, _ in rows]
        return cls(
            num_devices=num_devices,
            size=size.reshape(-1).astype(np.int64),
            cpus=cpus,
            memory=memory,
            allowed=np.array(allowed, dtype=np.bool_).reshape(len(rows), len(columns)),
            weight=weight,
            sizes=sizes,
            total=int(sum(weights)),
            devices_milli=int((weight * num_devices * sizes[size.reshape(-1)]).sum()),
            cpus_milli=int((weight * cpus).sum()),
            memory_mib=int((weight * memory).sum()),
        )


@dataclass(frozen=True, slots=True)
class Room:
    """Free amounts, one row per node (or per state that a node might come to): milli, milli and bytes."""

    devices: IntArray  # [row, index]
    cpus: IntArray
    memory: IntArray
    type_of: IntArray


@dataclass(frozen=True, slots=True)
class Profile:
    """A room as the measure sees it. `fits`: devices that hold a part of each size; `usable`: free there."""

    fits: IntArray  # [row, size]
    usable: IntArray
    free: IntArray
    cpus: IntArray
    memory: IntArray
    type_of: IntArray

    def rows(self, index: IntArray) -> "Profile":
        """These rows, copied."""
        return Profile(
            fits=self.fits[index],
            usable=self.usable[index],
            free=self.free[index],
            cpus=self.cpus[index],
            memory=self.memory[index],
            type_of=self.type_of[index],
        )


def profile_of(room: Room, mix: Mix) -> Profile:
    """The profile of every row."""
    devices = np.maximum(room.devices, 0)
    holds = [devices >= size for size in mix.sizes]
    empty = np.zeros((len(devices), 0), dtype=np.int64)
    return Profile(
        fits=np.stack([held.sum(axis=1) for held in holds], axis=1) if holds else empty,
        usable=np.stack([(devices * held).sum(axis=1) for held in holds], axis=1) if holds else empty,
        free=devices.sum(axis=1),
        cpus=np.maximum(room.cpus, 0),
        memory=np.maximum(room.memory, 0) >> _MEMORY_UNIT_BITS,
        type_of=room.type_of,
    )


def fragmentation(profile: Profile, mix: Mix) -> IntArray:
    """Expected fragmentation of each row: what the drawn worker could not use of what is free."""
    able = profile.fits[:, mix.size] >= mix.num_devices
    able &= profile.cpus[:, None] >= mix.cpus
    able &= profile.memory[:, None] >= mix.memory
    if not mix.allowed.all():
        able &= mix.allowed.T[profile.type_of]
    used = (profile.usable[:, mix.size] * able) @ mix.weight
    lost: IntArray = mix.total * profile.free - used
    return lost


def stranded(profile: Profile, mix: Mix) -> IntArray:
    """Free devices of each row that its cores or memory cannot feed at the mix's mean need for each."""
    fed = profile.free
    if mix.cpus_milli:
        fed = np.minimum(fed, profile.cpus * mix.devices_milli // mix.cpus_milli)
    if mix.memory_mib:
        fed = np.minimum(fed, profile.memory * mix.devices_milli // mix.memory_mib)
    lost: IntArray = mix.total * (profile.free - fed)
    return lost


def loss(profile: Profile, mix: Mix) -> IntArray:
    """What the engine keeps low: expected fragmentation plus devices stranded."""
    return fragmentation(profile, mix) + stranded(profile, mix)


Measure = Callable[[Profile, Mix], IntArray]


class Gradients:
    """What one worker of a shape would add to the loss of each node. Kept between questions: after `changed`
    only those nodes are reckoned anew.
    """

    def __init__(self, room: Room, mix: Mix, *, measure: Measure = loss) -> None:
        self._room = room  # not copied: it is read again where it changed
        self._mix = mix
        self._measure = measure
        self._profile = profile_of(room, mix)
        self._current = self._measure(self._profile, mix)
        self._known: dict[Shape, tuple[IntArray, IntArray]] = {}
        self._stale: dict[Shape, list[IntArray]] = {}

    def changed(self, nodes: IntArray) -> None:
        """The room of these nodes is another one now."""
        part = profile_of(rows(self._room, nodes), self._mix)
        for name in ("fits", "usable", "free", "cpus", "memory"):
            getattr(self._profile, name)[nodes] = getattr(part, name)
        self._current[nodes] = self._measure(part, self._mix)
        for stale in self._stale.values():
            stale.append(nodes)

    def of(self, shape: Shape) -> tuple[IntArray, IntArray]:
        """The increase on each node (`IMPOSSIBLE` where the worker does not fit) and, for a part of a device,
        the device that it should share. Read only.
        """
        if shape not in self._known:
            size = len(self._current)
            self._known[shape] = (np.full(size, IMPOSSIBLE), np.full(size, NO_DEVICE))
            self._stale[shape] = [np.arange(size)]
        if self._stale[shape]:
            self._refresh(shape, np.unique(np.concatenate(self._stale[shape])))
            self._stale[shape] = []
        return self._known[shape]

    def best(self, shape: Shape, nodes: IntArray) -> tuple[int, int] | None:
        """The node of these with the least increase (the first of equals) and the device to share there."""
        increase, device = self.of(shape)
        if not nodes.size:
            return None
        node = int(nodes[np.argmin(increase[nodes])])
        return None if increase[node] == IMPOSSIBLE else (node, int(device[node]))

    def _graded(self, increase: IntArray) -> IntArray:
        """The increase as it is compared: a subclass may make it coarser."""
        return increase

    def _refresh(self, shape: Shape, nodes: IntArray) -> None:
        increase, device = self._known[shape]
        increase[nodes] = IMPOSSIBLE
        able = nodes[_holds(rows(self._room, nodes), shape)]
        if not able.size:
            return
        if shape.is_fraction:
            able, device[able], increase[able] = self._share(shape, able)
        else:
            after = self._profile.rows(able)
            _take_whole(after, shape)
            increase[able] = self._graded(self._measure(_less(after, shape), self._mix) - self._current[able])

    def _share(self, shape: Shape, nodes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """For each node the best device to share, and its increase."""
        devices = self._room.devices[nodes]
        position, index = np.nonzero((devices >= shape.device_milli) & _first_of_equals(devices))
        after = self._profile.rows(nodes[position])
        _take_part(after, self._mix.sizes, before=devices[position, index], milli=shape.device_milli)
        grown = self._graded(self._measure(_less(after, shape), self._mix) - self._current[nodes[position]])
        order = np.lexsort((index, grown, position))
        first = order[np.unique(position[order], return_index=True)[1]]
        return nodes, index[first], grown[first]


def best_unit(room: Room, shape: Shape, nodes: IntArray, mix: Mix) -> tuple[int, int] | None:
    """The node of these where one worker of the shape adds least to the loss, and the device to share there
    (`NO_DEVICE` for whole devices); nothing if it fits on none. `Gradients` answers many such questions.
    """
    nodes = nodes[_holds(rows(room, nodes), shape)]
    found = Gradients(rows(room, nodes), mix).best(shape, np.arange(len(nodes)))
    return None if found is None else (int(nodes[found[0]]), found[1])


def leaves_awkward_rest(shape: Shape, mix: Mix, *, share: float) -> bool:
    """Whether a fraction, alone on a device, leaves a rest that less than this share of the mix can use."""
    rest = DEVICE_MILLI - shape.device_milli
    if not shape.is_fraction or not mix.total:
        return False
    usable = (mix.sizes[mix.size] <= rest) & (mix.num_devices == 1)
    return int(mix.weight[usable].sum()) < share * mix.total


def _column(numbers: Iterable[int]) -> IntArray:
    return np.array(list(numbers), dtype=np.int64)


def rows(room: Room, nodes: IntArray) -> Room:
    """The room of these nodes, copied."""
    return Room(room.devices[nodes], room.cpus[nodes], room.memory[nodes], room.type_of[nodes])


def _holds(room: Room, shape: Shape) -> BoolArray:
    """Which rows hold one worker of the shape."""
    able = (room.cpus >= shape.cpus_milli) & (room.memory >= shape.memory_bytes)
    if not shape.num_devices:
        return able
    held: BoolArray = able & ((room.devices >= shape.device_milli).sum(axis=1) >= shape.num_devices)
    return held


def _first_of_equals(devices: IntArray) -> BoolArray:
    """Devices of a node that no earlier one of it equals: sharing either comes to the same."""
    same = devices[:, :, None] == devices[:, None, :]
    repeated: BoolArray = np.tril(same, k=-1).any(axis=2)
    return ~repeated


def _take_whole(after: Profile, shape: Shape) -> None:
    after.fits[...] -= shape.num_devices
    after.usable[...] -= shape.num_devices * DEVICE_MILLI
    after.free[...] -= shape.num_devices * DEVICE_MILLI


def _take_part(after: Profile, sizes: IntArray, *, before: IntArray, milli: int) -> None:
    left = before - milli
    held, holds = before[:, None] >= sizes, left[:, None] >= sizes
    after.fits[...] += holds.astype(np.int64) - held
    after.usable[...] += left[:, None] * holds - before[:, None] * held
    after.free[...] -= milli


def _less(after: Profile, shape: Shape) -> Profile:
    """The same less the worker's cores and memory."""
    after.cpus[...] -= shape.cpus_milli
    after.memory[...] -= -(-shape.memory_bytes >> _MEMORY_UNIT_BITS)
    return after
