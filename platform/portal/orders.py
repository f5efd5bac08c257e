"""The conductor's long poll: answered at once when there are orders, else when one comes or time is up."""

import secrets
import time

from django.conf import settings
from django.utils import timezone
from rest_framework.exceptions import APIException, AuthenticationFailed, ParseError

from eventlog.wakeups import ORDERS_CHANNEL
from jobs.services.orders import take_orders
from portal.answers import header, in_database_thread, query, send_fault, send_json, until_gone
from portal.broadcasts import Broadcasts, Listener
from portal.django_handler import Receive, Scope, Send
from portal.http_errors import fault_of_refusal
from ray_runtime.protocol import Order
from refusals import Refusal

LONGEST_WAIT_SECONDS = 60.0
LOOK_SECONDS = 2.0  # how late an order may be whose wake-up was lost


async def serve(scope: Scope, receive: Receive, send: Send, *, broadcasts: Broadcasts) -> None:
    """Answer `GET ORDERS_PATH?epoch=E&wait=S` with `{"orders": [...]}`."""
    await until_gone(receive, _answer(scope, send, broadcasts))


async def _answer(scope: Scope, send: Send, broadcasts: Broadcasts) -> None:
    try:
        epoch, wait = _asked(scope)
        async with broadcasts.listen(ORDERS_CHANNEL) as listener:
            orders = await _next_orders(listener, epoch=epoch, ends_at=time.monotonic() + wait)
    except (Refusal, APIException) as error:
        await send_fault(send, fault_of_refusal(error))
    else:
        await send_json(send, {"orders": [order.to_json() for order in orders]})


def _asked(scope: Scope) -> tuple[int, float]:
    """The epoch and how long to wait, from whoever shows the conductor's token."""
    given = header(scope, "Authorization").removeprefix("Bearer ").encode()
    if not secrets.compare_digest(given, settings.ENV.conductor_token.encode()):
        raise AuthenticationFailed
    parameters = query(scope)
    try:
        return int(parameters["epoch"]), min(float(parameters.get("wait", 0)), LONGEST_WAIT_SECONDS)
    except (KeyError, ValueError):
        raise ParseError from None


async def _next_orders(listener: Listener, *, epoch: int, ends_at: float) -> list[Order]:
    while True:
        orders = await in_database_thread(take_orders, epoch=epoch, now=timezone.now())
        left = ends_at - time.monotonic()
        if orders or left <= 0:
            return orders
        await listener.get(timeout=min(left, LOOK_SECONDS))
