"""Evictions: a storm of them in one pass, a reclaim for one large gang, and a claim that has to say no."""

from dataclasses import replace
from functools import partial

import numpy as np

from scheduling.bench.passes import timed
from scheduling.bench.registry import Case, Clocks, Measured, percentile
from scheduling.bench.workloads import GIB, LEVELS, NOW_MS, cluster_nodes
from scheduling.decide import decide
from scheduling.model import Job, JobId, JobPhase, Node, Plan, Policy, Queue, QueuePath, ReasonCode, Worker
from scheduling.snapshot import Snapshot

NUM_RUNS = 5
OWN = QueuePath("own")
BORROWERS = tuple(QueuePath(f"borrower{number}") for number in range(3))


def borrowed_cluster(num_nodes: int, waiting: list[Job], *, seed: int = 1) -> Snapshot:
    """One-device jobs of three queues fill all; half is guaranteed to a queue that uses nothing."""
    random = np.random.default_rng(seed)
    nodes = cluster_nodes(num_nodes)
    running = [_runs(number, node, random) for number, node in enumerate(_each_device(nodes))]
    total = sum(node.num_devices for node in nodes) * 1000
    queues = [Queue(path=OWN, guarantee_milli=total // 2)]
    queues += [Queue(path=path, guarantee_milli=total // 8) for path in BORROWERS]
    return Snapshot.of(nodes=nodes, queues=queues, jobs=[*running, *waiting], levels=LEVELS)


def claimant(number: int, *, num_workers: int, devices: int) -> Job:
    """A gang that waits in the queue with the guarantee."""
    return Job(
        id=JobId(f"w{number:05d}"),
        queue=OWN,
        priority=200,
        submitted_at_ms=NOW_MS,
        num_workers=num_workers,
        accelerators_milli=devices * 1000,
        cpus_milli=devices * 1000,
        memory_bytes=GIB,
    )


def storm(clocks: Clocks, *, num_nodes: int, num_claims: int) -> Measured:
    """Milliseconds for a pass in which so many one-device jobs each reclaim a device."""
    waiting = [claimant(number, num_workers=1, devices=1) for number in range(num_claims)]
    return _measure(clocks, borrowed_cluster(num_nodes, waiting), num_evictions=num_claims)


def one_gang(clocks: Clocks, *, num_nodes: int) -> Measured:
    """Milliseconds for a pass in which a gang of 250 workers of 8 devices reclaims its 2,000 devices."""
    snapshot = borrowed_cluster(num_nodes, [claimant(0, num_workers=250, devices=8)])
    return _measure(clocks, snapshot, num_evictions=2000)


def refusal(clocks: Clocks) -> Measured:
    """Milliseconds until 10 workers of 8 devices are told why 500 full nodes have no room for them."""
    waiting = [replace(claimant(0, num_workers=10, devices=8), queue=BORROWERS[0])]
    snapshot = borrowed_cluster(500, waiting)
    snapshot.books  # noqa: B018 -- worked out here, as for every event but the first
    runs = [timed(snapshot, clocks, _refused) for _ in range(5 * NUM_RUNS)]
    cpu, wall = zip(*runs, strict=True)
    return Measured(value=percentile(cpu, 95), wall=percentile(wall, 95), detail="4,000 running jobs")


def _measure(clocks: Clocks, snapshot: Snapshot, *, num_evictions: int) -> Measured:
    plan = decide(snapshot, NOW_MS, Policy())
    _expect(plan, num_evictions)
    runs = [timed(snapshot, clocks, _decided) for _ in range(NUM_RUNS)]
    cpu, wall = zip(*runs, strict=True)
    return Measured(
        value=percentile(cpu, 95), wall=percentile(wall, 95), detail=f"{len(plan.evictions)} evictions"
    )


def _expect(plan: Plan, num_evictions: int) -> None:
    if len(plan.evictions) != num_evictions:
        raise ValueError(f"{len(plan.evictions)} evictions were planned, {num_evictions} expected")


def _decided(snapshot: Snapshot) -> Plan:
    return decide(snapshot, NOW_MS, Policy())


def _refused(snapshot: Snapshot) -> None:
    reason = _decided(snapshot).reasons[JobId("w00000")]
    if reason.code is not ReasonCode.SHARE:
        raise ValueError(f"the reason is {reason.code}")


def _each_device(nodes: list[Node]) -> list[tuple[Node, int]]:
    return [(node, device) for node in nodes for device in range(node.num_devices)]


def _runs(number: int, at: tuple[Node, int], random: np.random.Generator) -> Job:
    node, device = at
    return Job(
        id=JobId(f"r{number:06d}"),
        queue=BORROWERS[number % len(BORROWERS)],
        priority=200,
        submitted_at_ms=number,
        num_workers=1,
        accelerators_milli=1000,
        cpus_milli=8000,
        memory_bytes=GIB,
        phase=JobPhase.PLACED,
        placement=(Worker(node=node.name, devices=(device,)),),
        placed_at_ms=NOW_MS - int(random.integers(1, 10**8)),
        restart_cost_ms=60_000,
    )


KAI_RECLAIM = "KAI 102 s (500 nodes)"
CASES = (
    Case(
        name="storm: 1,000 evictions planned in one pass, 1,000 nodes",
        unit="ms",
        run=partial(storm, num_nodes=1000, num_claims=1000),
        bar=1500,
        peer="KAI: 4,000 one-device reclaims in 694 s",
    ),
    Case(
        name="reclaim plan for a 2,000-device gang, 500 nodes, 4,000 running jobs",
        unit="ms",
        run=partial(one_gang, num_nodes=500),
        bar=50,
        peer=KAI_RECLAIM,
    ),
    Case(
        name="reclaim plan for a 2,000-device gang, 10,000 nodes, 80,000 running jobs",
        unit="ms",
        run=partial(one_gang, num_nodes=10_000),
        bar=200,
        peer=KAI_RECLAIM,
    ),
    Case(
        name="why 10 workers of 8 devices cannot start on 500 full nodes",
        unit="ms",
        run=refusal,
        bar=2,
        peer="KAI 249 s",
    ),
)
