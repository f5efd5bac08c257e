"""Which of the chosen victims are needed, without trying each: an exact answer where room is counted in whole
devices, and none where it is not.

The gang has `slack` workers more room in its domain than it needs. Putting a victim back takes some away; if
that is more than the slack, the victim is needed.
"""

from collections.abc import Iterable

import numpy as np

from scheduling.amounts import DEVICE_MILLI
from scheduling.candidates import Claimant, Rows
from scheduling.columns import Columns
from scheduling.placement import UNBOUNDED
from scheduling.supply import Free, IntArray


class Sparing:
    """Room in one domain, seen from each victim chosen there."""

    def __init__(self, claimant: Claimant, *, rows: Rows, domain: int, chosen: Iterable[int]) -> None:
        self._claimant = claimant
        self._domain = domain
        self._rows = rows.only(np.isin(rows.slot, list(chosen)))
        self._losses: dict[int, int] = {}
        self._slack = 0

    def look_at(self, view: Free) -> None:
        """How things stand with those chosen so far gone."""
        claimant, rows = self._claimant, self._rows
        counts = claimant.counts(view)
        self._slack = claimant.room(view, self._domain) - claimant.request.num_workers
        loss = counts[rows.unit] - _counts_with(claimant, rows, view)
        slots, number = np.unique(rows.slot, return_inverse=True)
        losses = np.bincount(number.reshape(-1), weights=loss, minlength=len(slots))
        self._losses = dict(zip(slots.tolist(), losses.astype(np.int64).tolist(), strict=True))

    def is_needed(self, slot: int) -> bool:
        """Whether the gang would not have room with this one back."""
        return self._losses.get(slot, 0) > self._slack


def counts_exactly(claimant: Claimant, columns: Columns, *, domain: int, view: Free) -> bool:
    """Whether `Sparing` knows: whole devices, no tensor groups, and no other domain with enough room."""
    kind, grouping = claimant.request.kind, claimant.domains
    if claimant.shape.is_fraction or kind.group_workers > 1:
        return False
    if columns.device_milli.size and int(columns.device_milli.min()) < DEVICE_MILLI:
        return False
    totals = claimant.standing.placer.totals(view, kind).copy()
    totals[domain] = 0
    return grouping.num_domains == 1 or int(totals.max()) < claimant.request.num_workers


def _counts_with(claimant: Claimant, rows: Rows, view: Free) -> IntArray:
    """Workers that each row's unit holds when the row's holder is back there."""
    shape, nodes = claimant.shape, claimant.node_of(rows.unit)
    whole = claimant.standing.placer.whole_devices(view, by_part=claimant.domains.by_part)[rows.unit]
    counts = np.full(len(rows.unit), UNBOUNDED)
    if shape.num_devices:
        counts = np.maximum(whole - rows.devices, 0) // shape.num_devices
    if shape.cpus_milli:
        counts = np.minimum(counts, np.maximum(view.cpus[nodes] - rows.cpus, 0) // shape.cpus_milli)
    if shape.memory_bytes:
        counts = np.minimum(counts, np.maximum(view.memory[nodes] - rows.memory, 0) // shape.memory_bytes)
    return np.where(view.open[nodes], counts, 0)
