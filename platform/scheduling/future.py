"""The cluster as of a later time: what is free then, and how early a gang's devices are free together.

`end[node, device]` says when each device is free altogether. Sorted along a unit (a node, or one part of it),
every a-th entry says when the unit can host its 1st, 2nd, ... worker of `a` devices; the n-th smallest such
entry of a domain is the earliest moment at which it hosts n workers.
"""

import numpy as np

from scheduling.amounts import DEVICE_MILLI, Request
from scheduling.ends import NEVER, PAST, Tenures
from scheduling.standing import Standing
from scheduling.supply import BoolArray, Footprint, Free, IntArray
from scheduling.topology import Grouping

EARLY = 8  # a probe is this part of the way, as long as there are
MANY = 20_000  # ends to look at


class Future:
    """Answers about later times for one state of the books. `usable`: the nodes that are healthy then."""

    def __init__(self, standing: Standing, tenures: Tenures, usable: BoolArray) -> None:
        self._standing = standing
        self._supply = standing.supply
        self._rows = tenures
        self._usable = usable
        self._capacity = standing.empty
        self._worker_end = tenures.end[tenures.worker_holder]
        device_end = tenures.end[tenures.device_holder]
        is_whole = tenures.device_milli == DEVICE_MILLI
        self._spot = tenures.device_node * self._supply.width + tenures.device_index
        exists = (self._capacity.devices > 0) & usable[:, None]
        self._whole_end = self._last_ends(exists, self._spot[is_whole], device_end[is_whole])
        self._part_spot, self._part_end = self._spot[~is_whole], device_end[~is_whole]
        self._part_milli = tenures.device_milli[~is_whole]
        self._end = self._whole_end
        if self._part_spot.size:
            self._end = self._last_ends(exists, self._spot, device_end)
        self._times: IntArray | None = None
        self._free: dict[int, Free] = {}
        self._sorted: dict[bool, IntArray] = {}

    def times(self) -> IntArray:
        """The moments at which anything becomes free, in order."""
        if self._times is None:
            ends = np.unique(self._rows.end)
            self._times = ends[(ends > self._standing.now_ms) & (ends < NEVER)]
        return self._times

    def free_at(self, at_ms: int, *, closed: BoolArray | None = None) -> Free:
        """What is free when all are gone that end by then; nodes that are closed then have nothing."""
        if closed is not None:
            return self._free_at(at_ms, closed)
        if at_ms not in self._free:
            self._free[at_ms] = self._free_at(at_ms, None)
        return self._free[at_ms].copy()

    def _free_at(self, at_ms: int, closed: BoolArray | None) -> Free:
        open_nodes = self._usable if closed is None else self._usable & ~closed
        devices = (self._whole_end <= at_ms) * np.int64(DEVICE_MILLI)
        still = self._part_end > at_ms
        np.subtract.at(devices.reshape(-1), self._part_spot[still], self._part_milli[still])
        if closed is not None:
            devices[closed] = 0
        return Free(
            devices=devices,
            cpus=self._left(self._capacity.cpus, self._rows.worker_cpus, at_ms) * open_nodes,
            memory=self._left(self._capacity.memory, self._rows.worker_memory, at_ms) * open_nodes,
            open_nodes=open_nodes,
        )

    def earliest(
        self,
        request: Request,
        *,
        last_ms: int = NEVER,
        closed: BoolArray | None = None,
        taken: tuple[Footprint, ...] = (),
    ) -> int:
        """No allowed domain has devices for the gang before this; NEVER if that is after `last_ms`. Exact for
        whole devices; taken ones are never free, nodes that are closed have none; processors and memory are
        not looked at.
        """
        shape, grouping = request.kind.shape, self._standing.placer.required(request.kind)
        if not shape.num_devices or shape.is_fraction:
            return PAST
        ends = self._unit_ends(grouping.by_part, closed=closed, taken=taken)
        ends = ends[:, shape.num_devices - 1 :: shape.num_devices]
        reached = self._standing.placer.reached(request.kind, by_part=grouping.by_part)
        if reached is not None:
            ends = np.where(reached[:, None], ends, NEVER)
        allowed = self._standing.placer.allowed(grouping, request.kind.types)
        return self._first_with(grouping, ends, request.num_workers, allowed, last_ms)

    def _last_ends(self, exists: BoolArray, spots: IntArray, ends: IntArray) -> IntArray:
        last = np.where(exists, PAST, NEVER)
        np.maximum.at(last.reshape(-1), spots, ends)
        return last

    def _left(self, capacity: IntArray, amounts: IntArray, at_ms: int) -> IntArray:
        """What is left of a node's amount beside those that are still there."""
        if not amounts.any():
            return capacity
        still = self._worker_end > at_ms
        held = np.bincount(self._rows.worker_node[still], weights=amounts[still], minlength=len(capacity))
        return capacity - held.astype(np.int64)

    def _unit_ends(
        self, by_part: bool, *, closed: BoolArray | None, taken: tuple[Footprint, ...]
    ) -> IntArray:
        if by_part not in self._sorted:
            self._sorted[by_part] = self._by_unit(self._end, by_part=by_part)
        known = self._sorted[by_part]
        if closed is None and not taken:
            return known
        if by_part:
            return self._by_unit(self._end_without(np.arange(len(self._end)), closed, taken), by_part=True)
        touched = np.concatenate([np.empty(0, dtype=np.int64), *(each.touched() for each in taken)])
        if closed is not None:
            touched = np.append(touched, np.flatnonzero(closed))
        ends = known.copy()
        ends[touched] = np.sort(self._end_without(touched, closed, taken), axis=1)
        return ends

    def _end_without(
        self, nodes: IntArray, closed: BoolArray | None, taken: tuple[Footprint, ...]
    ) -> IntArray:
        """The ends on these nodes if what is taken or closed never ends."""
        ends = self._end.copy()
        for footprint in taken:
            ends[footprint.device_nodes, footprint.device_indices] = NEVER
        if closed is not None:
            ends[closed] = NEVER
        return ends[nodes]

    def _by_unit(self, ends: IntArray, *, by_part: bool) -> IntArray:
        """Ends in a row for each unit, sorted."""
        if not by_part:
            return np.sort(ends, axis=1)
        part_of = self._standing.topology.part_of
        table = np.full((len(self._standing.topology.part_node), self._supply.width), NEVER)
        nodes, indices = np.nonzero(part_of >= 0)
        table[part_of[nodes, indices], indices] = ends[nodes, indices]
        return np.sort(table, axis=1)

    def _first_with(
        self, grouping: Grouping, ends: IntArray, num_workers: int, allowed: BoolArray, last_ms: int
    ) -> int:
        """The first moment by which so many of the ends of one allowed domain are over.

        By bisection, in which only the ends between the bounds are looked at again. First whether there is
        any such moment; then early ones, as most gangs need few of many.
        """
        units = grouping.order[allowed[grouping.domain[grouping.order]]]
        left, domains = ends[units].reshape(-1), np.repeat(grouping.domain[units], ends.shape[1])
        times = self.times()
        moments = np.append(PAST, times[: np.searchsorted(times, last_ms, side="right")])
        over = np.zeros(grouping.num_domains, dtype=np.int64)
        low, high, probe = 0, len(moments), len(moments) - 1
        while low < high:
            is_over = left <= moments[probe]
            counts = over + np.bincount(domains[is_over], minlength=len(over))
            if (counts >= num_workers).any():
                high = probe
            else:
                low, over = probe + 1, counts
                is_over = ~is_over
            left, domains = left[is_over], domains[is_over]
            probe = low + (high - low) // (EARLY if len(left) > MANY else 2) if low else 0
        return int(moments[low]) if low < len(moments) else NEVER
