"""Maintenance windows: which nodes they close between two moments, and who has to leave them now."""

from collections.abc import Iterable

import numpy as np

from scheduling.ends import end_of
from scheduling.model import EvictionKind, Job, NodeName, Runtimes, Window
from scheduling.standing import Standing
from scheduling.supply import BoolArray, Supply


class Calendar:
    """The windows that are not over, by node of the supply, and which nodes are healthy apart from them."""

    def __init__(self, windows: Iterable[Window], supply: Supply, usable: BoolArray, *, now_ms: int) -> None:
        self.windows = tuple(window for window in windows if window.ends_at_ms > now_ms)
        self._masks = [_mask(window.nodes, supply) for window in self.windows]
        self.usable = usable

    def overlapping(self, starts_at_ms: int, ends_at_ms: int) -> tuple[Window, ...]:
        """The windows that have begun before the end and are not over at the start."""
        return tuple(
            window
            for window in self.windows
            if window.starts_at_ms < ends_at_ms and window.ends_at_ms > starts_at_ms
        )

    def closed_by(self, windows: Iterable[Window]) -> BoolArray | None:
        """The nodes that any of these windows closes; nothing if there are no windows."""
        masks = [mask for window, mask in zip(self.windows, self._masks, strict=True) if window in windows]
        return np.logical_or.reduce(masks) if masks else None


def make_way(standing: Standing, windows: Iterable[Window]) -> None:
    """Jobs leave the nodes of a window in time for it: told so when nothing but their grace is left, unless
    they end before it.
    """
    for window in windows:
        if standing.now_ms < window.ends_at_ms:
            for job in _on_nodes(standing, _mask(window.nodes, standing.supply)):
                leaves_at_ms = window.starts_at_ms - job.grace_ms
                end = end_of(job, now_ms=standing.now_ms, runtimes=Runtimes.LIMITS)
                if leaves_at_ms <= standing.now_ms and end > window.starts_at_ms:
                    standing.evict(job, beneficiary=job, kind=EvictionKind.MAINTENANCE)


def _on_nodes(standing: Standing, nodes: BoolArray) -> list[Job]:
    """The jobs that hold anything on these nodes, by id."""
    columns, slots = standing.holdings.columns(), standing.holdings.slots
    rows = nodes[columns.worker_node] & standing.holdings.active()[columns.worker_slot]
    names = {slots[slot].job.id for slot in columns.worker_slot[rows].tolist()}
    return [standing.jobs[name] for name in sorted(names)]


def _mask(names: Iterable[NodeName], supply: Supply) -> BoolArray:
    mask = np.zeros(len(supply.names), dtype=np.bool_)
    mask[[supply.index[name] for name in names if name in supply.index]] = True
    return mask
