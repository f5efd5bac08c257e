"""What guarantees, limits and use of a queue tree mean: pure functions over integers (milli-accelerators)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

SEPARATOR = "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueAmounts:
    """One queue's numbers. `limit_milli` None: no limit of its own."""

    path: str
    guarantee_milli: int
    limit_milli: int | None
    used_milli: int
    type_guarantees: Mapping[str, int] = field(default_factory=dict)  # milli, of one accelerator type


def chain_of(path: str) -> tuple[str, ...]:
    """The paths from the root of the tree down to this queue, itself included."""
    parent = parent_of(path)
    return (*(chain_of(parent) if parent else ()), path)


def parent_of(path: str) -> str | None:
    """The path one level up; None for a root."""
    head, separator, _name = path.rpartition(SEPARATOR)
    return head if separator else None


def is_below(path: str, ancestor: str) -> bool:
    """Whether the queue is in the ancestor's subtree, not counting the ancestor itself."""
    return path.startswith(ancestor + SEPARATOR)


def first_full(chain: Sequence[QueueAmounts], amount_milli: int) -> QueueAmounts | None:
    """The first queue from the root down whose limit does not bear the amount on top of its use.

    Nothing never passes a limit, so a job without accelerators may start in a queue that is over its limit.
    """
    if amount_milli == 0:
        return None
    return next((queue for queue in chain if not _bears(queue, amount_milli)), None)


def borrowed_milli(queue: QueueAmounts) -> int:
    """How much of the use is beyond the guarantee: what other queues may reclaim."""
    return max(0, queue.used_milli - queue.guarantee_milli)


def guaranteed_milli(children: Iterable[QueueAmounts]) -> int:
    """What is promised to the children together."""
    return sum(child.guarantee_milli for child in children)


def guaranteed_by_type(children: Iterable[QueueAmounts]) -> dict[str, int]:
    """The same of each accelerator type."""
    sums: dict[str, int] = {}
    for child in children:
        for name, amount in child.type_guarantees.items():
            sums[name] = sums.get(name, 0) + amount
    return sums


def devices(milli: int) -> int | float:
    """Milli-units as the number of devices that people read: 4, 0.5."""
    whole, rest = divmod(milli, 1000)
    return whole if rest == 0 else float(Decimal(milli) / 1000)


def milli(devices: Decimal | float) -> int:
    """A number of devices as milli-units; a finer fraction than a thousandth is a `ValueError`."""
    amount = Decimal(str(devices)) * 1000
    if amount != amount.to_integral_value():
        raise ValueError(f"{devices} is finer than a thousandth")
    return int(amount)


def _bears(queue: QueueAmounts, amount_milli: int) -> bool:
    return queue.limit_milli is None or queue.used_milli + amount_milli <= queue.limit_milli
