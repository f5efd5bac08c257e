"""Maintenance windows as the nodes that are closed: now, or at any time between two moments."""

from collections.abc import Iterable

import numpy as np

from scheduling.model import Window
from scheduling.snapshot import Snapshot
from scheduling.supply import BoolArray, Supply


class Calendar:
    """The windows that are not over, by node of the supply, and which nodes are healthy apart from them."""

    def __init__(self, snapshot: Snapshot, supply: Supply, *, now_ms: int) -> None:
        self.windows = tuple(window for window in snapshot.windows if window.ends_at_ms > now_ms)
        self._masks = [_mask(window.nodes, supply) for window in self.windows]
        healthy = {node.name for node in snapshot.nodes if node.usable}
        self.usable = _mask(healthy, supply)

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


def _mask(names: Iterable[str], supply: Supply) -> BoolArray:
    mask = np.zeros(len(supply.names), dtype=np.bool_)
    mask[[supply.index[name] for name in names if name in supply.index]] = True  # type: ignore[index]
    return mask
