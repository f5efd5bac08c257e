"""The conductor's half of the protocol: epoch, orders, acknowledgements, reports, inventory."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Any

import httpx

from ray_runtime.portal_http import Backoff, PortalAwayError, PortalRefusedError, call, portal_client
from ray_runtime.protocol import (
    EPOCH_PATH,
    INVENTORY_PATH,
    ORDERS_PATH,
    REPORTS_PATH,
    Inventory,
    Order,
    Report,
    Takeover,
)

_BAD_BODY = {400, 413, 422}

logger = logging.getLogger(__name__)


class FencedError(Exception):
    """The portal has put another conductor in charge."""


class RejectedError(PortalAwayError):
    """The portal cannot take this very body; the next may do."""


class PortalLink:
    """HTTP to the portal under one epoch."""

    def __init__(self, url: str, *, token: str, incarnation: str) -> None:
        self.incarnation = incarnation
        self.epoch = 0
        self._client: httpx.AsyncClient = portal_client(url, token=token)

    async def take_over(self) -> Takeover:
        """Become the conductor in charge; waits for the portal as long as it takes."""
        backoff = Backoff()
        while True:
            try:
                response = await call(
                    self._client, "POST", EPOCH_PATH, json={"incarnation": self.incarnation}
                )
            except (PortalAwayError, PortalRefusedError) as error:
                logger.warning("cannot take over yet: %s", error)
                await asyncio.sleep(backoff.pause())
                continue
            takeover = Takeover.from_json(response.json())
            self.epoch = takeover.epoch
            return takeover

    async def orders(self, *, wait: float) -> list[Order]:
        """Open orders, at once if there are any, else as soon as there are some or after `wait` seconds."""
        response = await self._call(
            "GET", ORDERS_PATH, params={"epoch": self.epoch, "wait": f"{wait:g}"}, timeout=wait + 10
        )
        return [Order.from_json(order) for order in response.json()["orders"]]

    async def finish_orders(self, ids: Iterable[int]) -> None:
        """Tell that these orders were carried out."""
        await self._call("POST", ORDERS_PATH, json={"epoch": self.epoch, "done": sorted(ids)})

    async def send_reports(self, reports: Sequence[Report], *, incarnation: str) -> int:
        """Deliver reports in order. Returns the number up to which the portal has them."""
        body = {
            "epoch": self.epoch,
            "incarnation": incarnation,
            "reports": [report.to_json() for report in reports],
        }
        response = await self._call("POST", REPORTS_PATH, json=body)
        return int(response.json()["acked"])

    async def send_inventory(self, inventory: Inventory) -> None:
        """The heartbeat. One that is late is worth nothing: it is not repeated."""
        await self._call("POST", INVENTORY_PATH, json=inventory.to_json(), timeout=5)

    async def _call(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            return await call(self._client, method, path, **options)
        except PortalRefusedError as refusal:
            if refusal.status == 409:
                raise FencedError(str(refusal)) from refusal
            if refusal.status in _BAD_BODY:
                raise RejectedError(f"{refusal}: {refusal.response.text[:500]}") from refusal
            # A wrong token, an older portal: nothing of ours is final until a person has looked at it.
            raise PortalAwayError(str(refusal)) from refusal
