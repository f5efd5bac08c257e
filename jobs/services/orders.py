"""Orders on their way to the conductor, and a new conductor's taking over. At least once, in order."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from cluster.services import check_epoch, take_epoch
from eventlog.models import Command
from eventlog.services import mark_orders_delivered, mark_orders_done, open_orders
from jobs.models import Attempt
from ray_runtime.protocol import LaunchSpec, Order, OrderKind

# An order that was handed over and not acknowledged goes out again after this: the answer may have been lost.
REDELIVERED_AFTER = timedelta(seconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeOver:
    """What a new conductor needs: its fencing epoch, and every attempt that lives here."""

    epoch: int
    attempts: list[LaunchSpec]


def take_over(*, incarnation: str, now: datetime) -> TakeOver:
    """Put a conductor in charge. Orders that its predecessor had not finished go out again at once."""
    with transaction.atomic():
        epoch = take_epoch(incarnation=incarnation, now=now)
        Command.objects.filter(done_at__isnull=True).update(delivered_at=None)
        return TakeOver(epoch=epoch, attempts=_launched())


def take_orders(*, epoch: int, now: datetime) -> list[Order]:
    """The orders to be handed over now, oldest first. Raises `StaleEpoch`."""
    with transaction.atomic():
        check_epoch(epoch)
        orders = open_orders(not_delivered_since=now - REDELIVERED_AFTER)
        if orders:
            mark_orders_delivered([order.id for order in orders], now=now)
        return orders


def finish_orders(ids: list[int], *, epoch: int, now: datetime) -> int:
    """Close orders that the conductor has carried out; a repeat changes nothing. Raises `StaleEpoch`."""
    with transaction.atomic():
        check_epoch(epoch)
        return mark_orders_done(ids, now=now)


def _launched() -> list[LaunchSpec]:
    """The launch orders of the live attempts, exactly as they were given."""
    live = Attempt.objects.filter(ended_at__isnull=True).values("id")
    launches = Command.objects.filter(kind=OrderKind.LAUNCH, attempt_id__in=live).order_by("id")
    return [LaunchSpec.from_json(payload) for payload in launches.values_list("payload", flat=True)]
