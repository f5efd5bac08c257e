"""The conductor: a detached actor, one per cluster, that carries out the portal's orders and reports.

Nothing that blocks runs in its loop, and no user code. When it dies nothing else does: it comes back, asks
portal and agents, and goes on. A newer conductor fences it through the epoch.
"""

import asyncio
import logging
import time
import uuid
from collections import OrderedDict
from typing import Any

import ray

from ray_runtime.actor_log import set_up_log
from ray_runtime.fleet import Fleet, node_report
from ray_runtime.gang import Gang, Means
from ray_runtime.liveness import Limits, WakingClock
from ray_runtime.messages import HostRecord, HostState, StaleEpochError
from ray_runtime.order_desk import OrderDesk
from ray_runtime.portal_http import PortalAwayError
from ray_runtime.portal_link import FencedError, PortalLink
from ray_runtime.protocol import (
    EndCause,
    Inventory,
    LaunchSpec,
    Order,
    OrderKind,
    StopOrder,
    Takeover,
)
from ray_runtime.ray_cluster import AgentAwayError, RayCluster
from ray_runtime.report_book import ReportBook, deliver_left_spools
from ray_runtime.settings import ConductorSettings
from ray_runtime.spool import Spool
from ray_runtime.states import Outcome
from ray_runtime.task_set import TaskSet, leave
from ray_runtime.work_dir import private_folder, work_dir

_HEARTBEAT_SECONDS = 1.0
_TIDY_SECONDS = 20.0
_REMEMBERED_ENDS = 10_000

logger = logging.getLogger(__name__)


class Conductor:
    """Created by `launcher` with its settings as JSON; starts by itself, also after a restart."""

    async def __init__(self, settings: dict[str, Any]) -> None:  # type: ignore[misc]  # Ray awaits it
        set_up_log()
        self._settings = ConductorSettings.from_json(settings)
        self._incarnation = uuid.uuid4().hex
        self._is_rebuilt = False
        self._gangs: dict[str, Gang] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._tasks = TaskSet(on_crash=_give_up)
        self._spools = private_folder(work_dir() / "conductor")
        self._link = PortalLink(
            self._settings.portal_url, token=self._settings.token, incarnation=self._incarnation
        )
        self._desk = OrderDesk(self._link, wait_seconds=self._settings.orders_wait_seconds)
        self._book = ReportBook(self._link, Spool(self._spools, incarnation=self._incarnation))
        self._clock = WakingClock()
        self._cluster = RayCluster()
        self._fleet = Fleet(
            self._cluster,
            epoch=lambda: self._link.epoch,
            portal_url=self._settings.portal_url,
            limits=Limits(
                silence=self._settings.silence_seconds, agent_return=self._settings.agent_return_seconds
            ),
            tasks=self._tasks,
            clock=self._clock,
        )
        self._means = Means(
            fleet=self._fleet,
            cluster=self._cluster,
            book=self._book,
            placement_seconds=self._settings.placement_seconds,
        )
        self._tasks.spawn(self._run())

    async def fingerprint(self) -> str:
        """Of its settings: the launcher replaces a conductor that was created with other ones."""
        return self._settings.fingerprint()

    async def describe(self) -> dict[str, Any]:
        """What it holds, for people who look for a fault."""
        return {
            "incarnation": self._incarnation,
            "epoch": self._link.epoch,
            "rebuilt": self._is_rebuilt,
            "attempts": {attempt_id: gang.state.name for attempt_id, gang in self._gangs.items()},
            "nodes": {view.ray.name: view.is_answering for view in self._fleet.nodes()},
        }

    async def _run(self) -> None:
        takeover = await self._link.take_over()
        logger.info("in charge under epoch %d, %d attempts", takeover.epoch, len(takeover.attempts))
        if await deliver_left_spools(self._link, folder=self._spools):
            takeover = await self._link.take_over()  # what was just delivered may have ended attempts
        self._tasks.spawn(self._clock.run())
        await self._fleet.refresh()
        self._tasks.spawn(self._send_heartbeats())
        await self._until_agents_answer(takeover)
        await self._rebuild(takeover)
        self._tasks.spawn(self._book.run())
        self._tasks.spawn(self._desk.run())
        self._tasks.spawn(self._tidy())
        while True:
            for order in await self._desk.next_orders() or ():
                self._take(order)

    async def _until_agents_answer(self, takeover: Takeover) -> None:
        """A table rebuilt from some of the agents would take the others' attempts for lost."""
        needed = {slot.node for spec in takeover.attempts for slot in spec.workers}
        started_at = self._clock.now
        while self._clock.now - started_at < self._settings.silence_seconds:
            views = [self._fleet.node(name) for name in needed]
            if all(view is not None and view.is_answering for view in views):
                return
            await asyncio.sleep(0.05)

    async def _rebuild(self, takeover: Takeover) -> None:
        """Take up live attempts from what agents hold. Orders first: a stop must be known to judge exits."""
        while (orders := await self._desk.next_orders()) is None:
            continue  # without them, an attempt that is still to be launched would pass for lost
        launching = {order.attempt_id for order in orders if order.kind is OrderKind.LAUNCH}
        for spec in takeover.attempts:
            if not self._resume(spec, reported=takeover.reported.get(spec.attempt_id, "")):
                self._lose(spec, is_ordered=spec.attempt_id in launching)
        for order in orders:
            self._take(order)
        self._is_rebuilt = True
        logger.info("rebuilt: %d gangs, %d orders", len(self._gangs), len(orders))
        self._fleet.on_orphan = self._spawn_orphan

    def _resume(self, spec: LaunchSpec, *, reported: str) -> bool:
        """Take an attempt up; False if no agent knows it and none that could is missing."""
        nodes = {slot.node for slot in spec.workers}
        views = [self._fleet.node(name) for name in nodes]
        records = [
            view.records[spec.attempt_id] for view in views if view and spec.attempt_id in view.records
        ]
        is_complete = all(view is not None and view.is_answering for view in views)
        if not records and is_complete:
            return False
        gang = self._new_gang(spec, reported=reported)
        gang.resume(was_started=not is_complete or any(record.started_at_ms for record in records))
        return True

    def _lose(self, spec: LaunchSpec, *, is_ordered: bool) -> None:
        """No trace of it: its launch order is still open and will start it, or it is truly unknown."""
        if not is_ordered:
            self._book.add_end(spec.attempt_id, _no_trace(), job_id=spec.job_id)
            self._remember_end(spec.attempt_id)

    def _new_gang(self, spec: LaunchSpec, *, reported: str = "") -> Gang:
        gang = self._gangs[spec.attempt_id] = Gang(spec, self._means, reported=reported)
        self._tasks.spawn(self._run_gang(gang))
        return gang

    async def _run_gang(self, gang: Gang) -> None:
        await gang.run()
        self._remember_end(gang.spec.attempt_id)
        del self._gangs[gang.spec.attempt_id]

    def _remember_end(self, attempt_id: str) -> None:
        self._ended[attempt_id] = None
        if len(self._ended) > _REMEMBERED_ENDS:
            self._ended.popitem(last=False)

    def _take(self, order: Order) -> None:
        if order.kind is OrderKind.LAUNCH:
            self._launch(order)
        else:
            self._stop(order)

    def _launch(self, order: Order) -> None:
        if order.attempt_id in self._ended:
            self._desk.finish(order)
            return
        gang = self._gangs.get(order.attempt_id) or self._new_gang(LaunchSpec.from_json(order.payload))
        self._tasks.spawn(self._finish_after(gang.taken_in, order))

    def _stop(self, order: Order) -> None:
        gang = self._gangs.get(order.attempt_id)
        if gang is not None:
            gang.order_stop(StopOrder.from_json(order.payload))
            self._tasks.spawn(self._finish_after(gang.stop_passed_on, order))
        elif order.attempt_id in self._ended:
            self._desk.finish(order)
        else:
            acked = self._book.add_end(order.attempt_id, _no_trace())
            self._remember_end(order.attempt_id)
            self._tasks.spawn(self._finish_after(acked, order))

    async def _finish_after(self, event: asyncio.Event, order: Order) -> None:
        await event.wait()
        self._desk.finish(order)

    async def _send_heartbeats(self) -> None:
        while True:
            await self._fleet.refresh()
            inventory = Inventory(
                epoch=self._link.epoch,
                incarnation=self._incarnation,
                at_ms=time.time_ns() // 1_000_000,
                nodes=tuple(node_report(view) for view in self._fleet.nodes()),
                attempts={attempt_id: gang.state.name for attempt_id, gang in self._gangs.items()},
                rebuilt=self._is_rebuilt,
            )
            try:
                await self._link.send_inventory(inventory)
            except PortalAwayError as error:
                logger.warning("no heartbeat: %s", error)
            await asyncio.sleep(_HEARTBEAT_SECONDS)

    async def _tidy(self) -> None:
        """Reservations of dead attempts come back when their node rejoins; records when their agent does."""
        while True:
            for name in await self._cluster.reservations():
                if name.partition(":")[0] not in self._gangs:
                    await self._cluster.release(name)
            for node, record in self._fleet.orphans():
                self._spawn_orphan(node, record)
            await asyncio.sleep(_TIDY_SECONDS)

    def _spawn_orphan(self, node: str, record: HostRecord) -> None:
        self._tasks.spawn(self._end_orphan(node, record))

    async def _end_orphan(self, node: str, record: HostRecord) -> None:
        """An attempt that is over for us: end what runs, forget what has ended."""
        try:
            if record.state is HostState.GONE:
                await self._fleet.call(node, "forget", [record.attempt_id])
                self._fleet.drop_record(node, record.attempt_id)
            else:
                logger.warning("node %s still runs %s, which is over", node, record.attempt_id)
                await self._fleet.call(node, "stop", record.attempt_id, grace_seconds=0.0)
        except AgentAwayError as error:
            logger.info("node %s: %s", node, error)


def _no_trace() -> Outcome:
    return Outcome(cause=EndCause.UNKNOWN, message="the cluster has no trace of this attempt")


def _give_up(error: BaseException) -> None:
    """Leave and come back rebuilt; for good if another conductor is in charge."""
    if isinstance(error, (FencedError, StaleEpochError)):
        logger.critical("another conductor is in charge: %s", error)
        ray.kill(ray.get_runtime_context().current_actor, no_restart=True)
    leave()
