"""A cluster on a virtual clock: runs a scheduling case against `decide` and keeps what happened for the
checks.

The rules are the `conventions` of `cases.json`: events of equal time in list order, then the engine until
settled.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from scheduling.decide import decide
from scheduling.invariants import check
from scheduling.model import (
    Job,
    JobId,
    JobPhase,
    Node,
    NodeName,
    Plan,
    Policy,
    Queue,
    QueuePath,
    TopologyRule,
    Worker,
)
from scheduling.snapshot import Snapshot
from tests.scheduling.building import LEVELS

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Seen:
    """The settled state at one moment."""

    running: Mapping[str, list[str]]  # the node of each worker
    pending: frozenset[str]
    reasons: Mapping[str, str]
    usage: Mapping[str, int]  # devices of each queue


class VirtualCluster:
    """Nodes, queues and jobs of one case, and the clock."""

    def __init__(self, case: Row, *, policy: Policy | None = None) -> None:
        self._policy = policy or Policy()
        self._nodes = {row["name"]: _node(row) for row in case["cluster"]["nodes"]}
        self._queues = [_queue(row) for row in case["queues"]]
        self._events = list(case["events"])
        self._jobs: dict[str, Job] = {}
        self._runtimes: dict[str, int | None] = {}
        self._incomplete: set[str] = set()  # gangs of which not all workers are known
        self._ends: dict[str, int] = {}  # when a running job ends, or a leaving one is gone
        self.first_starts: dict[str, int] = {}
        self.evictions: Counter[str] = Counter()
        self.seen: dict[int, Seen] = {}

    def run(self, *, until: int) -> None:
        """Runs the clock, noting the settled state at every moment at which something may change."""
        time: int | None = 0
        while time is not None and time <= until:
            self._end_jobs(time)
            for event in (event for event in self._events if event["t"] == time):
                self._apply_event(event, time)
            plan = self._settle(time)
            self.seen[time] = self._state(plan)
            times = [*(event["t"] for event in self._events), *self._ends.values(), until]
            time = min((later for later in times if later > time), default=None)

    def at(self, time: int) -> Seen:
        """The state at a moment: nothing changes between two notes."""
        return self.seen[max(noted for noted in self.seen if noted <= time)]

    def _end_jobs(self, time: int) -> None:
        for name in [name for name, end in self._ends.items() if end <= time]:
            del self._ends[name]
            if self._jobs[name].phase is JobPhase.LEAVING:
                self._jobs[name] = _waiting(self._jobs[name])
            else:
                del self._jobs[name]

    def _apply_event(self, event: Row, time: int) -> None:
        match event["op"]:
            case "running":
                self._add(event["job"], time)
                self._place(event["job"]["name"], _first_devices(self, event), time)
            case "submit":
                self._add(event["job"], time)
            case "pods":
                self._learn(event, time)
            case "fail" | "drain":
                self._nodes[event["node"]] = replace(self._nodes[event["node"]], usable=False)
            case "recover" | "undrain":
                self._nodes[event["node"]] = replace(self._nodes[event["node"]], usable=True)
            case other:
                raise NotImplementedError(other)

    def _add(self, row: Row, time: int) -> None:
        self._jobs[row["name"]] = _job(row, time)
        self._runtimes[row["name"]] = row.get("runtime")

    def _learn(self, event: Row, time: int) -> None:
        """A gang is submitted when all its workers are known."""
        whole = next(e["job"] for e in self._events if e["op"] == "pods" and _name(e) == _name(event))
        self._incomplete.add(_name(event))
        if event["known"] == whole["pods"]:
            self._incomplete.remove(_name(event))
            self._add(whole, time)

    def _settle(self, time: int) -> Plan:
        while True:
            snapshot = self.snapshot()
            plan = decide(snapshot, time * 1000, self._policy)
            assert check(snapshot, plan) == []
            self._carry_out(plan, time)
            if not plan.starts and not plan.evictions:
                return plan

    def snapshot(self) -> Snapshot:
        """The rows as they are now."""
        return Snapshot.of(
            nodes=self._nodes.values(), queues=self._queues, jobs=self._jobs.values(), levels=LEVELS
        )

    def _carry_out(self, plan: Plan, time: int) -> None:
        kept = {keep.job: keep.placement for keep in plan.keeps}
        for name, job in self._jobs.items():
            self._jobs[name] = replace(job, kept=kept.get(job.id, ()))
        for eviction in plan.evictions:
            victim = self._jobs[eviction.job]
            self.evictions[eviction.job] += 1
            self._jobs[eviction.job] = replace(victim, phase=JobPhase.LEAVING)
            self._ends[eviction.job] = time + victim.grace_ms // 1000
        for start in plan.starts:
            self._place(start.job, start.placement, time)
        self._end_leaving(time)

    def _end_leaving(self, time: int) -> None:
        for name, job in self._jobs.items():
            if job.phase is JobPhase.LEAVING and self._ends[name] <= time:
                del self._ends[name]
                self._jobs[name] = _waiting(job)

    def _place(self, name: str, placement: tuple[Worker, ...], time: int) -> None:
        self.first_starts.setdefault(name, time)
        job = self._jobs[name]
        placed = replace(job, phase=JobPhase.PLACED, placement=placement, placed_at_ms=time * 1000, kept=())
        self._jobs[name] = placed
        runtime = self._runtimes[name]
        if runtime is not None:
            self._ends[name] = time + runtime

    def _state(self, plan: Plan) -> Seen:
        holding = {name: job for name, job in self._jobs.items() if job.phase is not JobPhase.WAITING}
        usage: Counter[str] = Counter()
        parents = {queue.path: queue.parent for queue in self._queues}
        for job in holding.values():
            path: QueuePath | None = job.queue
            while path is not None:
                usage[path] += job.total_milli // 1000
                path = parents[path]
        return Seen(
            running={name: sorted(worker.node for worker in job.placement) for name, job in holding.items()},
            pending=frozenset(self._incomplete | self._jobs.keys() - holding.keys()),
            reasons={name: reason.code.value for name, reason in plan.reasons.items()},
            usage=usage,
        )


def _name(event: Row) -> str:
    job = event["job"]
    return str(job if isinstance(job, str) else job["name"])


def _node(row: Row) -> Node:
    num_devices = row["gpus"]
    return Node(
        name=NodeName(row["name"]),
        domains={level: row[level] for level in LEVELS if level in row},
        accelerator_type=row.get("type", "any"),
        num_devices=num_devices,
        links=(row["name"],) * num_devices,
        cpus_milli=row.get("cpus", 1000) * 1000,
        memory_bytes=1 << 40,
        usable=row.get("health", "up") == "up",
    )


def _queue(row: Row) -> Queue:
    limit, parent = row.get("limit"), row.get("parent")
    return Queue(
        path=QueuePath(row["name"]),
        parent=None if parent is None else QueuePath(parent),
        guarantee_milli=row.get("guarantee", 0) * 1000,
        limit_milli=None if limit is None else limit * 1000,
        weight=row.get("weight", 1),
    )


def _job(row: Row, time: int) -> Job:
    rules = row.get("topology", {})
    return Job(
        id=JobId(row["name"]),
        queue=QueuePath(row["queue"]),
        priority=row.get("prio", 0),
        submitted_at_ms=time * 1000,
        num_workers=row.get("pods", 1),
        accelerators_milli=row.get("gpus", 1) * 1000,
        cpus_milli=row.get("cpus", 0) * 1000,
        types=tuple(row.get("types", ())),
        topology=tuple(TopologyRule(level=rules[k], preferred=k == "preferred") for k in rules),
        preemptible=row.get("preemptible", True),
        grace_ms=row.get("grace", 0) * 1000,
    )


def _waiting(job: Job) -> Job:
    return replace(job, phase=JobPhase.WAITING, placement=(), placed_at_ms=None)


def _first_devices(cluster: VirtualCluster, event: Row) -> tuple[Worker, ...]:
    """The lowest free devices of the nodes that the event names."""
    rows = cluster.snapshot()
    taken = {(w.node, device) for job in rows.jobs for w in job.placement for device in w.devices}
    sizes = {node.name: node.num_devices for node in rows.nodes}
    workers = []
    for name in event["on"]:
        free = [device for device in range(sizes[name]) if (name, device) not in taken]
        devices = tuple(free[: event["job"].get("gpus", 1)])
        taken |= {(NodeName(name), device) for device in devices}
        workers.append(Worker(node=NodeName(name), devices=devices))
    return tuple(workers)
