"""Clusters, queues and jobs for measurements: the same seed gives the same rows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from scheduling.bench.extras import with_extras
from scheduling.model import (
    Job,
    JobId,
    JobPhase,
    Node,
    NodeName,
    Placement,
    Plan,
    Queue,
    QueuePath,
    TopologyRule,
    Window,
    Worker,
)
from scheduling.snapshot import Snapshot

LEVELS = ("zone", "spine", "rack", "node")
NODES_PER_RACK, RACKS_PER_SPINE, SPINES_PER_ZONE = 16, 16, 4
DEVICES = 8
GIB = 1 << 30
HOUR_MS = 3_600_000
NOW_MS = 1_000 * HOUR_MS
NUM_ORGS, NUM_TEAMS = 4, 4
TOPOLOGIES: tuple[tuple[TopologyRule, ...], ...] = (
    (),
    (),
    (TopologyRule(level="rack", preferred=True),),
    (TopologyRule(level="rack"),),
    (TopologyRule(level="spine"),),
    (TopologyRule(level="link"),),
)
TYPES: tuple[tuple[str, ...], ...] = ((), (), ("h100",), ("a100",), ("h100", "a100"))
OLD_TYPE = "a100"
LIMITS_USERS, LIMITS_TYPE = QueuePath("org0/team0"), QueuePath("org1/team1")
GANGS = (1, 1, 1, 1, 2, 2, 4, 4, 8, 16, 32, 64, 128, 256, 512)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large a made-up cluster is, and how much waits on it."""

    num_nodes: int
    num_waiting: int
    busy: float = 0.95  # share of the devices that are held
    seed: int = 1


def busy_cluster(size: Size) -> Snapshot:
    """A cluster on which running jobs of up to 64 workers hold `busy` of the devices and gangs of 1 to 512
    workers wait, in 16 queues of 4 organisations, with everything that a job may ask for mixed in (`extras`).
    Every queue uses what is guaranteed to it, nobody who waits outranks anybody who runs, and the maintenance
    window is hours away, so no eviction is due.
    """
    nodes = cluster_nodes(size.num_nodes)
    random = np.random.default_rng(size.seed)
    running = list(_running(nodes, size, random))
    waiting = [_waiting(number, random) for number in range(size.num_waiting)]
    return Snapshot.of(
        nodes=nodes,
        queues=queues(running),
        jobs=[*running, *waiting],
        levels=LEVELS,
        windows=[_window(nodes)],
    )


def settled(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """The snapshot when the starts and the growth of a plan have been carried out."""
    jobs = {job.id: job for job in snapshot.jobs}
    placed = [
        replace(
            jobs[start.job], phase=JobPhase.PLACED, placement=start.placement, placed_at_ms=NOW_MS, kept=()
        )
        for start in plan.starts
    ]
    grown = [replace(jobs[change.job], placement=change.placement) for change in plan.resizes]
    return snapshot.with_event(jobs=[*placed, *grown])


def cluster_nodes(num_nodes: int) -> list[Node]:
    """Nodes of 8 devices in racks of 16, spines of 16 racks, zones of 4 spines; one spine in four is old."""
    return [_node(number) for number in range(num_nodes)]


def queues(running: list[Job]) -> list[Queue]:
    """Organisations with teams; each team is guaranteed a little less than it uses, and limited to double.
    One limits its users, one what it has of a type.
    """
    used: dict[str, int] = {}
    for job in running:
        used[job.queue] = used.get(job.queue, 0) + len(job.placement) * job.accelerators_milli
    teams = [_team(path, used.get(path, 0)) for path in _paths()]
    return [*(Queue(path=QueuePath(f"org{org}")) for org in range(NUM_ORGS)), *teams]


def _team(path: QueuePath, used: int) -> Queue:
    return Queue(
        path=path,
        parent=QueuePath(path.split("/")[0]),
        guarantee_milli=used * 9 // 10,
        limit_milli=used * 2 + 64_000,
        user_limit_milli=used // 2 + 64_000 if path == LIMITS_USERS else None,
        type_limits={OLD_TYPE: used + 64_000} if path == LIMITS_TYPE else {},
    )


def _window(nodes: list[Node]) -> Window:
    """One rack is maintained in the evening."""
    rack = nodes[len(nodes) // 2].domains["rack"]
    return Window(
        name="evening",
        nodes=frozenset(node.name for node in nodes if node.domains["rack"] == rack),
        starts_at_ms=NOW_MS + 12 * HOUR_MS,
        ends_at_ms=NOW_MS + 16 * HOUR_MS,
    )


def _paths() -> list[QueuePath]:
    return [QueuePath(f"org{org}/team{team}") for org in range(NUM_ORGS) for team in range(NUM_TEAMS)]


def _node(number: int) -> Node:
    rack = number // NODES_PER_RACK
    spine = rack // RACKS_PER_SPINE
    name = f"n{number:06d}"
    return Node(
        name=NodeName(name),
        domains={
            "zone": f"z{spine // SPINES_PER_ZONE:03d}",
            "spine": f"s{spine:04d}",
            "rack": f"r{rack:05d}",
        },
        accelerator_type=OLD_TYPE if spine % 4 == 3 else "h100",
        num_devices=DEVICES,
        links=(name,) * DEVICES,
        cpus_milli=96_000,
        memory_bytes=1024 * GIB,
    )


def _running(nodes: list[Node], size: Size, random: np.random.Generator) -> Iterator[Job]:
    """Jobs that fill node after node, leaving single devices free here and there."""
    number, at = 0, 0
    while at < len(nodes):
        num_nodes = min(int(random.choice((1, 1, 1, 2, 4, 8))), len(nodes) - at)
        for piece in _split(num_nodes, random):
            if random.random() < size.busy:
                yield _placed(number, nodes[at : at + num_nodes], piece, random)
                number += 1
        at += num_nodes


def _split(num_nodes: int, random: np.random.Generator) -> list[range]:
    """The devices of a node in pieces: whole for gangs, else now and then shared by smaller jobs."""
    if num_nodes > 1:
        return [range(DEVICES)]
    width = int(random.choice((1, 2, 4, 8)))
    return [range(first, first + width) for first in range(0, DEVICES, width)]


def _placed(number: int, nodes: list[Node], devices: range, random: np.random.Generator) -> Job:
    placement: Placement = tuple(Worker(node=node.name, devices=tuple(devices)) for node in nodes)
    age = int(random.integers(1, 48)) * HOUR_MS
    row = replace(
        _job(f"r{number:06d}", len(nodes), len(devices), random),
        priority=int(random.choice((200, 300))),
        phase=JobPhase.PLACED,
        placement=placement,
        placed_at_ms=NOW_MS - age,
        saved_at_ms=NOW_MS - int(random.integers(0, 3600)) * 1000,
        max_runtime_ms=age + int(random.integers(1, 72 * 60)) * 60_000,
        restart_cost_ms=60_000,
    )
    return with_extras(row, random)


def _waiting(number: int, random: np.random.Generator) -> Job:
    devices = int(random.choice((1, 1, 2, 4, 8, 8)))
    num_workers = int(random.choice(GANGS))
    topology = TOPOLOGIES[int(random.integers(len(TOPOLOGIES)))]
    if topology and topology[0].level == "link" and num_workers * devices > DEVICES:
        topology = ()
    row = replace(
        _job(f"w{number:06d}", num_workers, devices, random),
        topology=topology,
        types=TYPES[int(random.integers(len(TYPES)))],
        max_runtime_ms=int(random.choice((1, 4, 12, 24, 72))) * HOUR_MS,
    )
    return with_extras(row, random)


def _job(name: str, num_workers: int, devices: int, random: np.random.Generator) -> Job:
    paths = _paths()
    return Job(
        id=JobId(name),
        queue=paths[int(random.integers(len(paths)))],
        priority=200,
        submitted_at_ms=NOW_MS - int(random.integers(1, 100_000)) * 1000,
        num_workers=num_workers,
        accelerators_milli=devices * 1000,
        cpus_milli=devices * 8_000,
        memory_bytes=devices * 64 * GIB,
        user=f"u{int(random.integers(200)):03d}",
    )
