"""Tables of integers that grow at the end without being copied each time."""

from dataclasses import dataclass

import numpy as np

from scheduling.supply import IntArray

LEAST_ROOM = 1024


@dataclass(slots=True)
class _Buffer:
    """Room for rows, as columns; `used` of them are written."""

    data: IntArray  # [column, row]
    used: int


class GrowingTable:
    """Rows of integers, read as columns. Nothing that was written changes. Tables that grew out of one share
    its rows: who grows first writes into the room behind them, whoever comes later gets a copy.
    """

    __slots__ = ("_buffer", "_size")

    def __init__(self, rows: IntArray) -> None:
        self._buffer = _Buffer(rows, rows.shape[1])
        self._size = rows.shape[1]

    def grown(self, rows: IntArray) -> "GrowingTable":
        """This table with these rows ([column, row]) behind."""
        size, buffer = self._size + rows.shape[1], self._buffer
        if buffer.used != self._size or size > buffer.data.shape[1]:
            buffer = _roomier(self.columns(), size)
        buffer.data[:, self._size : size] = rows
        buffer.used = size
        table = GrowingTable.__new__(GrowingTable)
        table._buffer, table._size = buffer, size
        return table

    def columns(self) -> IntArray:
        """The columns, [column, row]. Not to be changed."""
        return self._buffer.data[:, : self._size]


def _roomier(columns: IntArray, size: int) -> _Buffer:
    data = np.empty((columns.shape[0], size + max(size // 2, LEAST_ROOM)), dtype=np.int64)
    data[:, : columns.shape[1]] = columns
    return _Buffer(data, columns.shape[1])
