"""Queues, as a seed would make them, and what is held in them."""

from typing import Any
from uuid import uuid4

from accounts.models import Team
from quotas.arithmetic import chain_of, parent_of
from quotas.models import Holding, Queue
from tests.accounts.builders import NOW


def a_queue(path: str, *, team: Team | None = None, **columns: Any) -> Queue:
    """A queue, with those above it where they are missing."""
    parent_path = parent_of(path)
    parent = None
    if parent_path is not None:
        parent = Queue.objects.filter(path=parent_path).first() or a_queue(parent_path, team=team)
    return Queue.objects.create(id=uuid4(), path=path, parent=parent, team=team, created_at=NOW, **columns)


def ledger_differences() -> dict[str, tuple[int, int]]:
    """Queues whose `used_milli` is not the sum of live holdings in their subtree: path -> (booked, held)."""
    live = Holding.objects.filter(released_at__isnull=True).select_related("queue")
    held = dict.fromkeys(Queue.objects.values_list("path", flat=True), 0)
    for holding in live:
        for path in chain_of(holding.queue.path):
            held[path] += holding.amount_milli
    booked = dict(Queue.objects.values_list("path", "used_milli"))
    return {path: (booked[path], held[path]) for path in booked if booked[path] != held[path]}
