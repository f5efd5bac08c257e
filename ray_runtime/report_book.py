"""Reports on their way to the portal: numbered, in order, in batches, at least once."""

import asyncio
import logging
import time
from collections import deque
from itertools import islice
from pathlib import Path
from typing import Any

from ray_runtime.portal_http import Backoff, PortalAwayError
from ray_runtime.portal_link import PortalLink, RejectedError
from ray_runtime.protocol import LaunchSpec, Report, ReportKind
from ray_runtime.spool import Spool, left_spools
from ray_runtime.states import Outcome

_BATCH = 200
_END_FIELDS = ("cause", "exit_code", "rank", "node", "message", "last_lines", "finished")

logger = logging.getLogger(__name__)


class ReportBook:
    """Takes reports without waiting and delivers them as fast as the portal takes them."""

    def __init__(self, link: PortalLink, spool: Spool) -> None:
        self._link = link
        self._spool = spool
        self._seq = 0
        self._waiting: deque[Report] = deque()
        self._num_spooled = 0  # how many of `_waiting`, from its start, are on disk
        self._has_spooled = False
        self._arrived = asyncio.Event()
        self._acked: dict[str, asyncio.Event] = {}

    def add(self, kind: ReportKind, spec: LaunchSpec, *, at_ms: int | None = None) -> None:
        """Report that an attempt has come to this point."""
        self._put(kind=kind, job_id=spec.job_id, attempt_id=spec.attempt_id, at_ms=at_ms or _now_ms())

    def add_end(self, attempt_id: str, outcome: Outcome, *, job_id: str = "") -> asyncio.Event:
        """Report an attempt's end. The event is set when the portal has it."""
        end = {name: getattr(outcome, name) for name in _END_FIELDS}
        self._put(kind=ReportKind.ENDED, job_id=job_id, attempt_id=attempt_id, at_ms=_now_ms(), **end)
        return self._acked.setdefault(attempt_id, asyncio.Event())

    async def run(self) -> None:
        """For the life of the conductor."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            await self._deliver_all()

    async def _deliver_all(self) -> None:
        backoff = Backoff()
        size = _BATCH
        while self._waiting:
            try:
                await self._send(size)
                backoff.reset()
            except RejectedError as error:
                if size == 1:
                    self._drop_first(error)
                size = 1  # find the one that the portal cannot take; the others must not wait behind it
            except PortalAwayError as error:
                logger.warning("%d reports wait for the portal: %s", len(self._waiting), error)
                await self._spool_waiting()
                await asyncio.sleep(backoff.pause())

    async def _send(self, size: int) -> None:
        batch = list(islice(self._waiting, size))
        acked = await self._link.send_reports(batch, incarnation=self._link.incarnation)
        while self._waiting and self._waiting[0].seq <= acked:
            self._settle(self._waiting.popleft())
        if not self._waiting and self._has_spooled:
            self._has_spooled = False
            await asyncio.to_thread(self._spool.clear)

    def _put(self, **fields: Any) -> None:
        self._seq += 1
        self._waiting.append(Report(seq=self._seq, **fields))
        self._arrived.set()

    def _drop_first(self, error: RejectedError) -> None:
        report = self._waiting.popleft()
        logger.critical("the portal cannot take a report, it is dropped: %s: %s", report, error)
        self._settle(report)

    def _settle(self, report: Report) -> None:
        self._num_spooled = max(0, self._num_spooled - 1)
        if report.kind is ReportKind.ENDED:
            self._acked.pop(report.attempt_id, asyncio.Event()).set()

    async def _spool_waiting(self) -> None:
        fresh = list(islice(self._waiting, self._num_spooled, None))
        self._num_spooled = len(self._waiting)
        self._has_spooled = True
        await asyncio.to_thread(self._spool.append, fresh)


async def deliver_left_spools(link: PortalLink, *, folder: Path) -> bool:
    """Deliver what an earlier incarnation could not, under its own numbers. True if there was something."""
    spools = await asyncio.to_thread(left_spools, folder, except_for=link.incarnation)
    for spool in spools:
        await _deliver(link, spool)
    return bool(spools)


async def _deliver(link: PortalLink, spool: Spool) -> None:
    reports = await asyncio.to_thread(spool.read)
    backoff = Backoff()
    while reports:
        try:
            acked = await link.send_reports(reports[:_BATCH], incarnation=spool.incarnation)
        except RejectedError as error:
            logger.critical("a report of an earlier conductor is dropped: %s: %s", reports[0], error)
            reports = reports[1:]
        except PortalAwayError:
            await asyncio.sleep(backoff.pause())
        else:
            reports = [report for report in reports if report.seq > acked]
    await asyncio.to_thread(spool.clear)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
