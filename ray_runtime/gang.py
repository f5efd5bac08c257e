"""The gang controller: one coroutine per attempt that reserves, forms, watches, stops and clears away.

It acts; what to do is decided by `policies`. Each round looks at all nodes afresh, so that a missed or
repeated signal changes nothing.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass
from typing import Any, assert_never

from ray_runtime.devices import accelerator_resource
from ray_runtime.environment import Rendezvous, nodes_of
from ray_runtime.fleet import Fleet, NodeView
from ray_runtime.liveness import Presence
from ray_runtime.messages import HostRecord, HostState
from ray_runtime.patience import happens, within
from ray_runtime.policies import Leave, Save, Sight, Stay, decide, is_kill, revise
from ray_runtime.protocol import EndCause, LaunchSpec, ReportKind, StopIntent, StopOrder
from ray_runtime.ray_cluster import AgentAwayError, RayCluster
from ray_runtime.report_book import ReportBook
from ray_runtime.reservation import PlacementImpossibleError, reserve
from ray_runtime.states import Forming, GangState, Leaving, Outcome, Reserving, Running, Saving

_RETRY_SECONDS = 0.2
_REPEAT_STOP_SECONDS = 1.0
_PASS_ON_SECONDS = 2.0
_RELEASE_SECONDS = 10.0
_SECOND_LOOK_SECONDS = 0.5
_IN_ORDER = (ReportKind.FORMING, ReportKind.RUNNING, ReportKind.STOPPING)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What all gangs work with."""

    fleet: Fleet
    cluster: RayCluster
    book: ReportBook
    placement_seconds: float


class Gang:
    """One attempt, from its order to its end report."""

    def __init__(self, spec: LaunchSpec, means: Means, *, reported: str = "") -> None:
        self.spec = spec
        self.state: GangState = Reserving()
        self.taken_in = asyncio.Event()  # agents hold it on disk: its launch order is carried out
        self.stop_passed_on = asyncio.Event()
        self._means = means
        self._nodes = nodes_of(spec)
        self._touched: set[str] = set()  # nodes that may hold something of it
        self._ray_node_ids: dict[str, str] = {}  # of nodes whose agent must have a record of it
        self._stop: StopOrder | None = None
        self._was_passed_on = False  # by a former conductor
        self._impossible: Outcome | None = None
        self._changed = asyncio.Event()
        self._formed_on = asyncio.Event()
        self._num_reported = next((i + 1 for i, kind in enumerate(_IN_ORDER) if kind == reported), 0)
        means.fleet.watch(spec.attempt_id, self._wake)

    def order_stop(self, order: StopOrder) -> None:
        """Stop it. A repeat changes nothing: the first order's grace is running."""
        if self._stop is None:
            self._stop = order
            self._wake()

    def resume(self, *, was_started: bool) -> None:
        """After the conductor's restart: take up what the agents hold.

        `was_started`: some rank has been started, so a node that knows nothing has lost its part; otherwise
        the gang is formed on from where it was.
        """
        self._touched.update(self._nodes)
        for node in self._nodes:
            if was_started or self._record(node) is not None:
                self._expect_record(node)
        if any(record.stop_ordered for record in self._records()):
            self._stop = StopOrder(intent=StopIntent.CANCEL, grace_seconds=self.spec.grace_seconds)
            self._was_passed_on = True
        self.taken_in.set()

    async def run(self) -> None:
        """Until the portal has the end report and no agent holds anything of it."""
        form = asyncio.create_task(self._form())
        try:
            over = await self._until_over(form)
        finally:
            form.cancel()
            await asyncio.gather(form, return_exceptions=True)
        logger.info("%s leaves %s: %s", self.spec.attempt_id, self.state.name, over.outcome)
        self.state = Leaving(over.outcome)
        await self._clear_away(over.grace_seconds)
        outcome = await self._confirmed(over.outcome)
        acked = self._means.book.add_end(self.spec.attempt_id, outcome, job_id=self.spec.job_id)
        await acked.wait()
        self.taken_in.set()
        self.stop_passed_on.set()
        await self._on_each(self._touched, self._forget)
        self._means.fleet.unwatch(self.spec.attempt_id)

    async def _until_over(self, form: asyncio.Task[None]) -> Leave:
        form.add_done_callback(lambda _task: self._wake())
        while True:
            self._changed.clear()
            if form.done():
                form.result()  # a bug ends the conductor, not just this gang
            if self._impossible is not None:
                return Leave(self._impossible, 0.0)
            decision = decide(self.state, self._sights(), self._stop)
            match decision:
                case Leave():
                    return decision
                case Save():
                    await self._save()
                case Stay():
                    await self._changed.wait()
                case _:
                    assert_never(decision)

    async def _form(self) -> None:
        """From nothing, or from what a former conductor left, to a running gang."""
        if not self._have(lambda record: record.started_at_ms is not None):
            try:
                await self._reserve()
            except PlacementImpossibleError as error:
                self._impossible = Outcome(
                    cause=EndCause.PLACEMENT_FAILED, node=error.node, message=str(error)
                )
                return
            self.state = Forming()
            self._report(ReportKind.FORMING)
            await self._on_each(self._nodes, self._prepare)
            self.taken_in.set()
            await self._until_all(lambda record: record.state is not HostState.PREPARING)
            await self._on_each(self._nodes, self._start)
            await self._until_all(lambda record: record.started_at_ms is not None)
        self.state = Saving() if self._was_passed_on else Running()
        started = [record.started_at_ms or 0 for record in self._records()]
        self._report(ReportKind.RUNNING, at_ms=max(started))

    async def _reserve(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._means.placement_seconds
        for node in self._nodes:  # one that has just joined gets its agent first
            while not self._is_answering(node):
                if loop.time() >= deadline:
                    raise PlacementImpossibleError(node, f"node {node} has no agent that answers")
                await self._wait_for_progress(1.0)
        nodes = [self._view(node).ray for node in self._nodes]
        await reserve(self._means.cluster, self.spec, nodes, timeout=self._means.placement_seconds)

    async def _prepare(self, node: str) -> None:
        self._touched.add(node)
        await self._insist(node, "prepare", self.spec.to_json(), **self._facts(node))
        self._expect_record(node)

    async def _start(self, node: str) -> None:
        lead = self._record(self._nodes[0])
        assert lead is not None
        rendezvous = Rendezvous(
            address=self._view(self._nodes[0]).ray.address,
            port=lead.master_port or 0,
            resume_from=lead.resume_from or "",
        )
        await self._insist(
            node, "start", self.spec.attempt_id, rendezvous=asdict(rendezvous), **self._facts(node)
        )

    async def _save(self) -> None:
        """Pass the stop order on. An agent that is away just now is told when the gang is cleared away."""
        assert self._stop is not None
        self.state = Saving()
        grace = self._stop.grace_seconds
        telling = [
            asyncio.create_task(
                self._insist(node, "stop", self.spec.attempt_id, grace_seconds=grace, ordered=True)
            )
            for node in self._nodes
        ]
        _, late = await asyncio.wait(telling, timeout=_PASS_ON_SECONDS)
        for task in late:
            task.cancel()
        self._report(ReportKind.STOPPING)
        self.stop_passed_on.set()

    async def _clear_away(self, grace_seconds: float) -> None:
        """Nothing of it may be alive, and its devices must be free, before its end is told."""
        await self._on_each(self._touched, lambda node: self._clear_node(node, grace_seconds))
        try:
            await within(_RELEASE_SECONDS, self._means.cluster.release(self.spec.attempt_id))
        except TimeoutError:
            logger.error("the reservation of %s could not be removed yet", self.spec.attempt_id)

    async def _clear_node(self, node: str, grace_seconds: float) -> None:
        while not self._sight(node).is_clear:
            try:
                await self._call(node, "stop", self.spec.attempt_id, grace_seconds=grace_seconds)
            except AgentAwayError:
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            if not self._sight(node).is_clear:
                await self._wait_for_progress(_REPEAT_STOP_SECONDS)

    async def _confirmed(self, outcome: Outcome) -> Outcome:
        """A failure may be the first that is seen of a dying node; look twice where a rank was killed."""
        node = outcome.node
        if node is None or not is_kill(outcome):
            return revise(outcome, self._sights())
        fleet, before = self._means.fleet, self._view(node).incarnation
        await asyncio.sleep(_SECOND_LOOK_SECONDS)
        while self._sight(node).presence is Presence.PRESENT:
            try:
                await fleet.ask(node)
                break
            except AgentAwayError:
                await asyncio.sleep(_RETRY_SECONDS)
        is_replaced = self._view(node).incarnation != before
        return revise(outcome, self._sights(), is_replaced=is_replaced)

    async def _forget(self, node: str) -> None:
        """One that is away is told when it is back: its record is an orphan then."""
        try:
            await self._means.fleet.call(node, "forget", [self.spec.attempt_id])
        except AgentAwayError as error:
            logger.info("node %s: %s", node, error)

    async def _insist(self, node: str, method: str, *args: Any, **options: Any) -> None:
        """Repeat a call until the agent has answered; a node that stays away ends the gang otherwise."""
        while True:
            try:
                return await self._call(node, method, *args, **options)
            except AgentAwayError:
                await asyncio.sleep(_RETRY_SECONDS)

    async def _call(self, node: str, method: str, *args: Any, **options: Any) -> None:
        fleet = self._means.fleet
        answer = await fleet.call(node, method, *args, **options)
        fleet.take_record(node, HostRecord.from_json(answer))

    async def _on_each(
        self, nodes: set[str] | list[str], work: Callable[[str], Coroutine[Any, Any, None]]
    ) -> None:
        async with asyncio.TaskGroup() as group:
            for node in sorted(nodes):
                group.create_task(work(node))

    async def _until_all(self, has_come: Callable[[HostRecord], bool]) -> None:
        while not self._have(has_come):
            await self._wait_for_progress(1.0)

    async def _wait_for_progress(self, seconds: float) -> None:
        self._formed_on.clear()
        await happens(self._formed_on, within_seconds=seconds)

    def _wake(self) -> None:
        self._changed.set()
        self._formed_on.set()

    def _report(self, kind: ReportKind, *, at_ms: int | None = None) -> None:
        """Each kind once, also over restarts of the conductor, as far as the portal told what it has."""
        position = _IN_ORDER.index(kind) + 1
        if position > self._num_reported:
            self._num_reported = position
            self._means.book.add(kind, self.spec, at_ms=at_ms)

    def _facts(self, node: str) -> dict[str, str]:
        ray = self._view(node).ray
        return {"address": ray.address, "resource": accelerator_resource(ray.resources)}

    def _view(self, node: str) -> NodeView:
        view = self._means.fleet.node(node)
        assert view is not None
        return view

    def _is_answering(self, node: str) -> bool:
        view = self._means.fleet.node(node)
        return view is not None and view.is_answering

    def _record(self, node: str) -> HostRecord | None:
        view = self._means.fleet.node(node)
        return view.records.get(self.spec.attempt_id) if view is not None else None

    def _records(self) -> list[HostRecord]:
        return [record for node in self._nodes if (record := self._record(node)) is not None]

    def _have(self, has_come: Callable[[HostRecord], bool]) -> bool:
        records = self._records()
        return len(records) == len(self._nodes) and all(map(has_come, records))

    def _expect_record(self, node: str) -> None:
        view = self._means.fleet.node(node)
        self._ray_node_ids[node] = view.ray.ray_node_id if view is not None else ""

    def _sights(self) -> list[Sight]:
        return [self._sight(node) for node in self._nodes]

    def _sight(self, node: str) -> Sight:
        ranks = tuple(slot.rank for slot in self.spec.workers if slot.node == node)
        view = self._means.fleet.node(node)
        presence, why = self._presence(node, view)
        return Sight(node=node, ranks=ranks, presence=presence, record=self._record(node), why=why)

    def _presence(self, node: str, view: NodeView | None) -> tuple[Presence, str]:
        """How the node stands for this gang: one that came back anew is lost for it all the same."""
        is_expected = node in self._ray_node_ids
        if view is None:
            return (Presence.NODE_LOST, f"node {node} is gone") if is_expected else (Presence.PRESENT, "")
        if view.presence is not Presence.PRESENT:
            return view.presence, f"node {node} was lost: {view.describe_silence()}"
        if not is_expected:
            return Presence.PRESENT, ""
        if view.ray.ray_node_id != self._ray_node_ids[node]:
            return Presence.NODE_LOST, f"node {node} was lost and has come back as a new one"
        if view.incarnation and self._record(node) is None:
            return Presence.AGENT_LOST, f"the agent of node {node} has lost every trace of it"
        return Presence.PRESENT, ""
