"""Locked chains of queues: every writer of the ledger locks from the root down, in path order."""

from collections.abc import Iterable

from quotas.arithmetic import QueueAmounts, chain_of
from quotas.models import Queue


def lock_chain(path: str) -> list[Queue]:
    """The queues from the root down to `path`, locked until the transaction ends.

    A path sorts after its own prefixes, so all lock in one order and no two writers block each other.
    NO KEY: rows that only refer to a queue (a new job) are not held up.
    """
    chain = Queue.objects.filter(path__in=chain_of(path)).order_by("path")
    return list(chain.select_for_update(no_key=True))


def lock_chains(paths: Iterable[str]) -> dict[str, Queue]:
    """The queues of several chains by path, locked in the same order."""
    union = {ancestor for path in paths for ancestor in chain_of(path)}
    queues = Queue.objects.filter(path__in=union).order_by("path").select_for_update(no_key=True)
    return {queue.path: queue for queue in queues}


def lock_family(path: str) -> dict[str, Queue]:
    """The locked chain of `path`, and with it the children of every queue of the chain, by path.

    The children are read after the lock: whoever changes one of them holds the lock of its parent.
    """
    chain = lock_chain(path)
    children = Queue.objects.filter(parent__in=chain)
    return {queue.path: queue for queue in (*children, *chain)}


def amounts_of(queue: Queue) -> QueueAmounts:
    """The row's numbers for `arithmetic`."""
    return QueueAmounts(
        path=queue.path,
        guarantee_milli=queue.guarantee_milli,
        limit_milli=queue.limit_milli,
        used_milli=queue.used_milli,
        type_guarantees=queue.type_guarantees,
    )
