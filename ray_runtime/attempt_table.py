"""An agent's table of attempts, synchronised with the conductor by state (see `messages`)."""

import asyncio
import uuid
from collections.abc import Iterable
from dataclasses import replace

from ray_runtime.messages import HostRecord, PollAnswer
from ray_runtime.patience import happens


class AttemptTable:
    """The records of one agent's life, each with the number of its last change."""

    def __init__(self) -> None:
        self.incarnation = uuid.uuid4().hex
        self._seq = 0
        self._records: dict[str, HostRecord] = {}
        self._changed = asyncio.Event()

    def get(self, attempt_id: str) -> HostRecord | None:
        """The record of an attempt, if this agent has one."""
        return self._records.get(attempt_id)

    def put(self, record: HostRecord) -> HostRecord:
        """Store a new or changed record under the next number and wake those who poll."""
        self._seq += 1
        stored = self._records[record.attempt_id] = replace(record, seq=self._seq)
        self._changed.set()
        return stored

    def remove(self, attempt_id: str) -> None:
        """Forget an attempt."""
        self._records.pop(attempt_id, None)

    def ports(self) -> Iterable[int]:
        """The rendezvous ports that are given away."""
        return [record.master_port for record in self._records.values() if record.master_port is not None]

    async def changes(self, *, incarnation: str, seq: int, wait: float) -> PollAnswer:
        """Records changed since (incarnation, seq); waits up to `wait` seconds for one.

        To a caller that knows another incarnation, or none, the whole table is new: it is answered at once.
        """
        since = seq if incarnation == self.incarnation else 0
        if incarnation == self.incarnation and self._seq <= since:
            self._changed.clear()
            await happens(self._changed, within_seconds=wait)
        records = tuple(record for record in self._records.values() if record.seq > since)
        return PollAnswer(incarnation=self.incarnation, seq=self._seq, records=records)
