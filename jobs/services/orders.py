"""Orders on their way to the conductor, and a new conductor's taking over. At least once, in order."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from cluster.services import check_epoch, take_epoch
from eventlog.models import Command, Event
from eventlog.services import mark_orders_delivered, mark_orders_done, open_orders
from jobs.models import Attempt
from ray_runtime.protocol import LaunchSpec, Order, OrderKind, ReportKind, Takeover

# An order that was handed over and not acknowledged goes out again after this: the answer may have been lost.
REDELIVERED_AFTER = timedelta(seconds=5)
# A conductor that rebuilds takes a launch that is not among its orders for lost: it has to see all of them.
MOST_ORDERS = 5000


def take_over(*, incarnation: str, now: datetime) -> Takeover:
    """Put a conductor in charge. Orders that its predecessor had not finished go out again at once."""
    with transaction.atomic():
        epoch = take_epoch(incarnation=incarnation, now=now)
        Command.objects.filter(done_at__isnull=True).update(delivered_at=None)
        live = Attempt.objects.filter(ended_at__isnull=True)
        return Takeover(epoch=epoch, attempts=_launched(live), reported=_reported(live))


def take_orders(*, epoch: int, now: datetime) -> list[Order]:
    """The orders to be handed over now, oldest first. Raises `StaleEpoch`."""
    with transaction.atomic():
        check_epoch(epoch)
        orders = open_orders(limit=MOST_ORDERS, not_delivered_since=now - REDELIVERED_AFTER)
        if orders:
            mark_orders_delivered([order.id for order in orders], now=now)
        return orders


def finish_orders(ids: list[int], *, epoch: int, now: datetime) -> int:
    """Close orders that the conductor has carried out; a repeat changes nothing. Raises `StaleEpoch`."""
    with transaction.atomic():
        check_epoch(epoch)
        return mark_orders_done(ids, now=now)


def _launched(live: QuerySet[Attempt]) -> tuple[LaunchSpec, ...]:
    """The launch orders of the live attempts, exactly as they were given."""
    launches = Command.objects.filter(kind=OrderKind.LAUNCH, attempt_id__in=live.values("id"))
    payloads = launches.order_by("id").values_list("payload", flat=True)
    return tuple(LaunchSpec.from_json(payload) for payload in payloads)


def _reported(live: QuerySet[Attempt]) -> dict[str, str]:
    """The last kind of report that was stored of each; an attempt that is left out was never reported of."""
    forming = Event.objects.filter(kind="forming", attempt_id__in=live.values("id"))
    running = live.filter(running_at__isnull=False).values_list("id", flat=True)
    return {
        **{str(key): ReportKind.FORMING.value for key in forming.values_list("attempt_id", flat=True)},
        **{str(key): ReportKind.RUNNING.value for key in running},
    }
