"""The conductor's view of all nodes and their agents: who is there, what they hold, who is lost."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ray_runtime.devices import SLOT, accelerator_resource
from ray_runtime.liveness import Answer, Limits, Presence, Silence, WakingClock, knock
from ray_runtime.messages import HostRecord, PollAnswer
from ray_runtime.protocol import NodeReport
from ray_runtime.ray_cluster import AgentAwayError, RayCluster, RayNode, call_agent
from ray_runtime.task_set import TaskSet

POLL_SECONDS = 1.0
_ANSWER_SECONDS = 3.0  # beyond the poll's own wait
_RETRY_SECONDS = 0.2

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class NodeView:
    """One node by its stable name: Ray's entry, which changes when the machine is replaced, and its agent."""

    ray: RayNode
    handle: Any = None
    incarnation: str = ""
    seq: int = 0
    records: dict[str, HostRecord] = field(default_factory=dict)
    heard_at: float = 0.0  # on the waking clock
    silence: Silence = field(default_factory=Silence)
    presence: Presence = Presence.PRESENT
    metrics: dict[str, float] = field(default_factory=dict)

    @property
    def is_answering(self) -> bool:
        """Whether its agent has answered and is not silent now."""
        return bool(self.incarnation) and self.presence is Presence.PRESENT

    def describe_silence(self) -> str:
        """Why it is taken for lost, for the end report."""
        if self.presence is Presence.AGENT_LOST:
            return f"its agent died and has not come back for {self.silence.seconds:.0f} s"
        if self.silence.last is Answer.REFUSED:
            return f"it refuses connections ({self.silence.seconds:.1f} s)"
        return f"it has not answered for {self.silence.seconds:.0f} s"


class Fleet:
    """Keeps one conversation with each agent, and tells gangs when something about their nodes changes."""

    def __init__(
        self,
        cluster: RayCluster,
        *,
        epoch: Callable[[], int],
        portal_url: str,
        limits: Limits,
        tasks: TaskSet,
        clock: WakingClock,
    ) -> None:
        self._cluster = cluster
        self._epoch = epoch
        self._portal_url = portal_url
        self._limits = limits
        self._tasks = tasks
        self._clock = clock
        self._nodes: dict[str, NodeView] = {}
        self._watchers: dict[str, Callable[[], None]] = {}
        self.on_orphan: Callable[[str, HostRecord], None] = lambda _node, _record: None

    async def refresh(self) -> None:
        """Look at Ray's nodes; begin to talk with agents of new ones."""
        for node in await self._cluster.nodes():
            view = self._nodes.get(node.name)
            if view is not None:
                view.ray = node
            elif node.alive:
                self._nodes[node.name] = NodeView(ray=node, heard_at=self._clock.now)
                self._tasks.spawn(self._follow(node.name))

    def node(self, name: str) -> NodeView | None:
        """A node by name, if it has ever been seen."""
        return self._nodes.get(name)

    def nodes(self) -> list[NodeView]:
        """All nodes, in name order."""
        return [self._nodes[name] for name in sorted(self._nodes)]

    def watch(self, attempt_id: str, wake: Callable[[], None]) -> None:
        """Call `wake` whenever something changes for this attempt or its nodes."""
        self._watchers[attempt_id] = wake

    def unwatch(self, attempt_id: str) -> None:
        """The attempt is over: from now on its records are orphans."""
        self._watchers.pop(attempt_id, None)

    def orphans(self) -> list[tuple[str, HostRecord]]:
        """Records of attempts that nobody watches, with their nodes."""
        return [
            (view.ray.name, record)
            for view in self._nodes.values()
            if view.is_answering
            for record in view.records.values()
            if record.attempt_id not in self._watchers
        ]

    def drop_record(self, name: str, attempt_id: str) -> None:
        """Its agent has forgotten it."""
        self._nodes[name].records.pop(attempt_id, None)

    async def call(self, name: str, method: str, *args: Any, timeout: float = 10.0, **options: Any) -> Any:
        """Call a node's agent under our epoch. Raises `AgentAwayError`."""
        view = self._nodes.get(name)
        if view is None or view.handle is None:
            raise AgentAwayError(f"node {name} has no agent yet")
        return await call_agent(view.handle, method, self._epoch(), *args, timeout=timeout, **options)

    async def ask(self, name: str) -> None:
        """Poll a node out of turn. Raises `AgentAwayError`."""
        await self._poll(name, self._nodes[name], 0.0)

    def take_record(self, name: str, record: HostRecord) -> None:
        """A record that an agent answered directly; an older one than we have changes nothing."""
        view = self._nodes[name]
        known = view.records.get(record.attempt_id)
        if known is None or known.seq < record.seq:
            view.records[record.attempt_id] = record
            self._wake(record.attempt_id)

    async def _follow(self, name: str) -> None:
        """Poll one agent for ever. After an error the next poll must not wait in the agent: we are blind."""
        view = self._nodes[name]
        wait = 0.0
        while True:
            try:
                await self._poll(name, view, wait)
                wait = POLL_SECONDS
            except AgentAwayError as error:
                wait = 0.0
                await self._endure(name, view, error)

    async def _poll(self, name: str, view: NodeView, wait: float) -> None:
        if view.handle is None:
            view.handle = await self._cluster.agent(name)
        answer = PollAnswer.from_json(
            await self.call(
                name,
                "poll",
                incarnation=view.incarnation,
                seq=view.seq,
                wait=wait,
                portal_url=self._portal_url,
                timeout=wait + _ANSWER_SECONDS,
            )
        )
        self._absorb(name, view, answer)

    def _absorb(self, name: str, view: NodeView, answer: PollAnswer) -> None:
        is_news = view.presence is not Presence.PRESENT or answer.incarnation != view.incarnation
        if answer.incarnation != view.incarnation:
            view.records.clear()
        view.incarnation, view.seq = answer.incarnation, answer.seq
        view.heard_at, view.silence, view.presence = self._clock.now, Silence(), Presence.PRESENT
        view.metrics = dict(answer.metrics)
        for record in answer.records:
            view.records[record.attempt_id] = record
            if record.attempt_id in self._watchers:
                self._wake(record.attempt_id)
            else:
                self.on_orphan(name, record)
        if is_news:
            self._wake_all()

    async def _endure(self, name: str, view: NodeView, error: AgentAwayError) -> None:
        """One more failed poll: find out what is gone."""
        if error.is_final:
            view.handle = None
        answer = await knock(view.ray.address, view.ray.port)
        view.silence = view.silence.after(answer, seconds=self._clock.now - view.heard_at)
        presence = view.silence.judge(self._limits)
        if presence is not view.presence:
            logger.warning("node %s: %s after %s (%s)", name, presence, view.silence, error)
            view.presence = presence
            self._wake_all()
        await asyncio.sleep(_RETRY_SECONDS)

    def _wake(self, attempt_id: str) -> None:
        wake = self._watchers.get(attempt_id)
        if wake is not None:
            wake()

    def _wake_all(self) -> None:
        for wake in list(self._watchers.values()):
            wake()


def node_report(view: NodeView) -> NodeReport:
    """How the portal is told of a node."""
    resource = accelerator_resource(view.ray.resources)
    return NodeReport(
        name=view.ray.name,
        ray_node_id=view.ray.ray_node_id,
        address=view.ray.address,
        alive=view.ray.alive and view.is_answering,
        labels=dict(view.ray.labels),
        accelerator_type=view.ray.labels.get("gangline.accelerator", SLOT),
        num_accelerators=int(view.ray.resources.get(resource, 0)),
        cpus_milli=int(view.ray.resources.get("CPU", 0) * 1000),
        memory_bytes=int(view.ray.resources.get("memory", 0)),
        problem=_problem(view),
        metrics=view.metrics,
    )


def _problem(view: NodeView) -> str:
    if view.presence is Presence.NODE_LOST or not view.ray.alive:
        return "the node does not answer"
    if view.presence is Presence.AGENT_LOST:
        return "the node's agent is gone and does not come back"
    return "" if view.incarnation else "the node's agent is starting"
