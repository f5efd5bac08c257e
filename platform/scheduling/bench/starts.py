"""Plain starts: one-device jobs on an idle cluster, whole plans with their rows."""

from statistics import median

from scheduling.bench.registry import Case, Clocks, Measured
from scheduling.decide import decide
from scheduling.model import Job, JobId, Node, NodeName, Policy, Queue, QueuePath
from scheduling.snapshot import Snapshot

NUM_NODES = 500
DEVICES_PER_NODE = 8
NUM_RUNS = 3


def plain_starts(*, num_nodes: int = NUM_NODES) -> Snapshot:
    """An idle cluster and one waiting job for each device."""
    jobs = num_nodes * DEVICES_PER_NODE
    return Snapshot.of(
        nodes=[_node(number) for number in range(num_nodes)],
        queues=[Queue(path=QueuePath("q"), guarantee_milli=jobs * 1000)],
        jobs=[_job(number) for number in range(jobs)],
        levels=("rack", "node"),
    )


def measure(clocks: Clocks) -> Measured:
    """Jobs started per second, the median of some runs."""
    snapshot = plain_starts()
    runs = [_one_run(snapshot, clocks) for _ in range(NUM_RUNS)]
    cpu, wall = (median(each) for each in zip(*runs, strict=True))
    return Measured(value=cpu, wall=wall, detail=f"{len(snapshot.jobs)} jobs in one plan")


def _one_run(snapshot: Snapshot, clocks: Clocks) -> tuple[float, float]:
    cpu, wall = clocks.cpu_s(), clocks.wall_s()
    num_started = len(decide(snapshot, 1000, Policy()).starts)
    if num_started != len(snapshot.jobs):
        raise ValueError(f"{num_started} of {len(snapshot.jobs)} jobs started")
    return num_started / (clocks.cpu_s() - cpu), num_started / (clocks.wall_s() - wall)


def _node(number: int) -> Node:
    name = f"n{number:04}"
    return Node(
        name=NodeName(name),
        domains={"rack": f"r{number // 32:02}"},
        accelerator_type="x",
        num_devices=DEVICES_PER_NODE,
        links=(name,) * DEVICES_PER_NODE,
        cpus_milli=96_000,
        memory_bytes=1 << 40,
    )


def _job(number: int) -> Job:
    return Job(
        id=JobId(f"j{number:05}"),
        queue=QueuePath("q"),
        priority=0,
        submitted_at_ms=number // 100,
        num_workers=1,
        accelerators_milli=1000,
        cpus_milli=8000,
        memory_bytes=1 << 34,
    )


CASES = (
    Case(
        name="plain starts of 1-device jobs",
        unit="jobs/s",
        run=measure,
        bar=10_000,
        at_least=True,
        peer="Kueue 43, KAI 10, Slurm 37-71 with launch, YuniKorn 410-833 pods/s",
    ),
)
