"""Builders of engine rows in whole devices and seconds, with the defaults of the scheduling cases."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from scheduling.decide import decide
from scheduling.model import (
    Job,
    JobId,
    JobPhase,
    Node,
    NodeName,
    Placement,
    Plan,
    Policy,
    Queue,
    QueuePath,
    TopologyRule,
    Worker,
)
from scheduling.snapshot import Snapshot

LEVELS = ("zone", "rack", "node")


def node(name: str, num_devices: int = 4, **changes: Any) -> Node:
    """A node of type "x" whose devices are one link domain; `rack` and `zone` are short for its domains."""
    labels: dict[str, str] = {level: changes.pop(level) for level in ("zone", "rack") if level in changes}
    row = Node(
        name=NodeName(name),
        domains={**labels, **changes.pop("domains", {})},
        accelerator_type="x",
        num_devices=num_devices,
        links=(name,) * num_devices,
        cpus_milli=64_000,
        memory_bytes=1 << 40,
    )
    return replace(row, **changes)


def queue(path: str, *, guarantee: int = 0, limit: int | None = None, **changes: Any) -> Queue:
    """A queue; amounts in devices."""
    limit_milli = None if limit is None else limit * 1000
    row = Queue(path=QueuePath(path), guarantee_milli=guarantee * 1000, limit_milli=limit_milli)
    return replace(row, **changes)


def job(name: str, devices: float = 1, *, workers: int = 1, priority: int = 0, **changes: Any) -> Job:
    """A waiting gang of `workers` with `devices` each in queue "q", submitted at second `at`."""
    at = changes.pop("at", 0)
    row = Job(
        id=JobId(name),
        queue=QueuePath(changes.pop("queue", "q")),
        priority=priority,
        submitted_at_ms=at * 1000,
        num_workers=workers,
        accelerators_milli=int(devices * 1000),
    )
    return replace(row, **changes)


def on(*places: str) -> Placement:
    """A placement written as "node:first device,second device,..." for each worker."""
    found = []
    for place in places:
        name, _, devices = place.partition(":")
        found.append(
            Worker(node=NodeName(name), devices=tuple(int(index) for index in devices.split(",") if index))
        )
    return tuple(found)


def running(row: Job, *places: str, since: int = 0, **changes: Any) -> Job:
    """The job placed there since that second."""
    return replace(row, phase=JobPhase.PLACED, placement=on(*places), placed_at_ms=since * 1000, **changes)


def leaving(row: Job) -> Job:
    """A placed job that was told to stop."""
    return replace(row, phase=JobPhase.LEAVING)


def required(level: str) -> tuple[TopologyRule, ...]:
    """The whole job inside one domain of a level."""
    return (TopologyRule(level=level),)


def preferred(level: str) -> tuple[TopologyRule, ...]:
    """The same as a wish."""
    return (TopologyRule(level=level, preferred=True),)


def snapshot(
    nodes: Iterable[Node],
    jobs: Iterable[Job],
    queues: Iterable[Queue] = (),
    *,
    levels: tuple[str, ...] = LEVELS,
) -> Snapshot:
    """A snapshot of these rows."""
    return Snapshot.of(nodes=nodes, queues=queues, jobs=jobs, levels=levels)


def plan(
    nodes: Iterable[Node],
    jobs: Iterable[Job],
    queues: Iterable[Queue] = (),
    *,
    at: int = 100,
    policy: Policy | None = None,
    levels: tuple[str, ...] = LEVELS,
) -> Plan:
    """What the engine decides about these rows at that second."""
    return decide(snapshot(nodes, jobs, queues, levels=levels), at * 1000, policy or Policy())


def started(result: Plan) -> dict[str, str]:
    """Where each started job goes, written as `on` reads it, workers joined by a space."""
    return {start.job: shown(start.placement) for start in result.starts}


def shown(placement: Placement) -> str:
    """A placement as `on` reads it, workers joined by a space."""
    return " ".join(f"{worker.node}:{','.join(map(str, worker.devices))}" for worker in placement)


def evicted(result: Plan) -> set[str]:
    """The jobs that are told to leave."""
    return {eviction.job for eviction in result.evictions}
