"""The published experiment: tasks arrive one by one, and each is placed at once or turned away.

With patience, parts of a device that leave a rest of little use may wait for a device that is shared already,
as long as idle devices are scarce. Whoever waited as long as allowed is placed like everybody else.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from scheduling.amounts import DEVICE_MILLI, Shape
from scheduling.fragmentation import Room, rows
from scheduling.simulation.openb_rules import Rule, fits, take
from scheduling.simulation.traces import no_clock
from scheduling.supply import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Which shapes may wait, while less than this share of the devices is idle, and for how many arrivals."""

    shapes: frozenset[Shape]
    idle_share: float
    num_arrivals: int


@dataclass(slots=True)
class Outcome:
    """What became of the arrivals. `allocated_milli[n]` is after n + 1 of them; `placed_at[n]` tells when the
    n-th one (from 0) was placed, None if never.
    """

    capacity_milli: int
    allocated_milli: list[int] = field(default_factory=list)
    arrived_milli: list[int] = field(default_factory=list)
    placed_at: list[int | None] = field(default_factory=list)
    waited: list[int] = field(default_factory=list)  # those that did not have to go at once
    decision_s: list[float] = field(default_factory=list)

    @property
    def allocated_percent(self) -> float:
        """Devices allocated at the end."""
        return 100 * self.allocated_milli[-1] / self.capacity_milli

    def allocated_percent_at(self, arrived_percent: float) -> float:
        """Devices allocated when this much of the capacity had been asked for."""
        wanted = arrived_percent * self.capacity_milli / 100
        at = next((n for n, milli in enumerate(self.arrived_milli) if milli >= wanted), -1)
        return 100 * self.allocated_milli[at] / self.capacity_milli

    @property
    def longest_wait(self) -> int:
        """The most arrivals for which one waited that was placed in the end."""
        placed = ((n, self.placed_at[n]) for n in self.waited)
        return max((at - n for n, at in placed if at is not None), default=0)

    @property
    def num_given_up(self) -> int:
        """Those that waited and found no place in the end."""
        return sum(self.placed_at[n] is None for n in self.waited)


class Filling:
    """One run. The room and what is remembered of the arrivals change together."""

    def __init__(
        self,
        room: Room,
        rule: Rule,
        *,
        patience: Patience | None = None,
        clock: Callable[[], float] = no_clock,
    ) -> None:
        self._room = room
        self._rule = rule
        self._patience = patience
        self._clock = clock
        self._most_arrivals = 0 if patience is None else patience.num_arrivals
        self._waiting: list[tuple[int, Shape]] = []
        self._touched: list[int] = []
        self._held_milli = 0
        self.outcome = Outcome(capacity_milli=int(room.devices.sum()))

    def run(self, shapes: Iterable[Shape]) -> Outcome:
        """All arrivals in turn, then a last try for those that still wait."""
        arrived = 0
        for number, shape in enumerate(shapes):
            self._serve_waiting(number)
            self.outcome.placed_at.append(None)
            if not self._place(shape, number, now=number, may_wait=self._may_wait(shape)):
                self._waiting.append((number, shape))
                self.outcome.waited.append(number)
            arrived += _milli(shape)
            self._note(arrived)
        self._close()
        return self.outcome

    def _may_wait(self, shape: Shape) -> bool:
        """Whether it is one of those that may wait, and idle devices are scarce."""
        if self._patience is None or shape not in self._patience.shapes:
            return False
        idle = self.outcome.capacity_milli - self._held_milli
        return idle < self._patience.idle_share * self.outcome.capacity_milli

    def _can_share(self, shape: Shape, nodes: IntArray) -> bool:
        """Whether a device of these nodes that is shared already has room for it."""
        room = rows(self._room, nodes)
        shared = ((room.devices >= shape.device_milli) & (room.devices < DEVICE_MILLI)).any(axis=1)
        return bool((shared & fits(room, shape)).any())

    def _serve_waiting(self, now: int) -> None:
        """Whose time is up goes anywhere; the others, the oldest first, where they can share by now.

        Room only shrinks: where nothing was placed since the last time, nobody can share who could not.
        """
        nodes = np.unique(np.array(self._touched, dtype=np.int64))
        self._touched.clear()
        while self._waiting and now - self._waiting[0][0] >= self._most_arrivals:
            number, shape = self._waiting.pop(0)
            self._place(shape, number, now=now)
        for shape in sorted({shape for _, shape in self._waiting}, key=_milli):
            if self._can_share(shape, nodes):
                self._serve(shape, nodes, now=now)

    def _serve(self, shape: Shape, nodes: IntArray, *, now: int) -> None:
        """Those of this shape, as long as they can share on these nodes and are best placed so."""
        for number, other in list(self._waiting):
            if other == shape:
                if not self._can_share(shape, nodes) or not self._place(
                    shape, number, now=now, may_wait=True
                ):
                    return
                self._waiting.remove((number, other))

    def _close(self) -> None:
        now = len(self.outcome.placed_at)
        while self._waiting:
            number, shape = self._waiting.pop(0)
            self._place(shape, number, now=now)
        self.outcome.allocated_milli[-1] = self._held_milli

    def _place(self, shape: Shape, number: int, *, now: int, may_wait: bool = False) -> bool:
        """Places it, or turns it away; false if it had rather wait than take the first part of a device."""
        begun = self._clock()
        found = self._rule.choose(shape)
        self.outcome.decision_s.append(self._clock() - begun)
        if found is None:
            return True
        if may_wait and self._room.devices[found] == DEVICE_MILLI:
            return False
        node, device = found
        take(self._room, shape, node, device)
        self._rule.taken(node)
        self._touched.append(node)
        self._held_milli += _milli(shape)
        self.outcome.placed_at[number] = now
        return True

    def _note(self, arrived: int) -> None:
        self.outcome.arrived_milli.append(arrived)
        self.outcome.allocated_milli.append(self._held_milli)


def _milli(shape: Shape) -> int:
    return shape.num_devices * shape.device_milli
