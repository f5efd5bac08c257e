"""Which orders are in hand, and which are carried out and still to be acknowledged."""

import asyncio
import logging

from ray_runtime.portal_http import Backoff, PortalAwayError
from ray_runtime.portal_link import PortalLink
from ray_runtime.protocol import Order

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.5

logger = logging.getLogger(__name__)


class OrderDesk:
    """Takes each order once, however often it is delivered, and acknowledges it after the work."""

    def __init__(self, link: PortalLink, *, wait_seconds: float) -> None:
        self._link = link
        self._wait_seconds = wait_seconds
        self._wait = 0.0
        self._in_hand: set[int] = set()
        self._done: set[int] = set()
        self._finished = asyncio.Event()
        self._backoff = Backoff()
        self._pause = _FIRST_PAUSE

    async def next_orders(self) -> list[Order] | None:
        """New orders, oldest first; empty when there are none yet, None when the portal did not answer.

        After an error the next poll does not wait in the portal. While only orders come that are in hand
        already, the portal answers at once: pause, or the loop would spin.
        """
        try:
            orders = await self._link.orders(wait=self._wait)
        except PortalAwayError as error:
            logger.warning("no orders: %s", error)
            self._wait = 0.0
            await asyncio.sleep(self._backoff.pause())
            return None
        self._wait = self._wait_seconds
        self._backoff.reset()
        fresh = [order for order in orders if order.id not in self._in_hand]
        self._in_hand.update(order.id for order in fresh)
        if orders and not fresh:
            await asyncio.sleep(self._pause)
            self._pause = min(_LONGEST_PAUSE, self._pause * 2)
        else:
            self._pause = _FIRST_PAUSE
        return fresh

    def finish(self, order: Order) -> None:
        """It is carried out: acknowledge it."""
        self._done.add(order.id)
        self._finished.set()

    async def run(self) -> None:
        """Acknowledge for the life of the conductor."""
        backoff = Backoff()
        while True:
            await self._finished.wait()
            self._finished.clear()
            while self._done:
                ids = set(self._done)
                try:
                    await self._link.finish_orders(ids)
                except PortalAwayError as error:
                    logger.warning("%d acknowledgements wait: %s", len(ids), error)
                    await asyncio.sleep(backoff.pause())
                    continue
                backoff.reset()
                self._done -= ids
                self._in_hand -= ids
