"""The engine as a policy of the rounds: rows for a snapshot, a plan by `decide`, and the plan carried out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scheduling.decide import decide
from scheduling.model import (
    Growth,
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
)
from scheduling.simulation.pollux.training import TrainingJob, compact
from scheduling.simulation.rounds import Allocation, Cluster
from scheduling.snapshot import Snapshot

DEVICE_MILLI = 1000
QUEUE = QueuePath("training")
POLICY = Policy(growth=Growth.BALANCED, shares_surplus=True)
MOST_PASSES = 8  # of one round: what one pass frees, the next gives away
UNMEASURED_REMAINING_MS = 600_000  # believed of a job that declares its epochs and has measured nothing yet
FIRST_MOST_WORKERS = 4  # of a job whose user names no size, until it has measured its speed
UNTRIED_FACTOR = 0.9  # of the speed predicted at a size that the job never had
GROWTH_FACTOR = 2  # no job runs on more than this many times the devices that it has measured


class EngineScheduler:
    """`declares`: users say for how many epochs they train, so that the work left is known."""

    def __init__(self, *, declares: bool, policy: Policy = POLICY, restart_s: int = 30) -> None:
        self._declares = declares
        self._policy = policy
        self._restart_ms = restart_s * 1000
        self._snapshot: Snapshot | None = None
        self._tables: dict[str, tuple[tuple[int, int, int], tuple[tuple[int, int], ...], float]] = {}

    def allocate(
        self, jobs: Sequence[TrainingJob], *, cluster: Cluster, now_s: int
    ) -> Mapping[str, Allocation]:
        """Plans until a pass changes nothing: here devices are free as soon as they are given back."""
        snapshot = self._present(jobs, cluster)
        for _ in range(MOST_PASSES):
            plan = decide(snapshot, now_s * 1000, self._policy)
            changed = _after(plan, {job.id: job for job in snapshot.jobs}, now_ms=now_s * 1000)
            if not changed:
                break
            snapshot = snapshot.with_event(jobs=[replace(job, restart_cost_ms=0) for job in changed])
        self._snapshot = snapshot
        return {str(job.id): _allocation(job.placement) for job in snapshot.jobs}

    def _present(self, jobs: Sequence[TrainingJob], cluster: Cluster) -> Snapshot:
        """The last snapshot, less the jobs that ended, with what was measured since."""
        last = self._snapshot or Snapshot.of(
            nodes=_nodes(cluster), queues=[Queue(path=QUEUE)], jobs=(), levels=("node",)
        )
        known = {str(job.id): job for job in last.jobs}
        rows = [(known.get(job.name), self._row(job, known.get(job.name), cluster)) for job in jobs]
        names = {job.name for job in jobs}
        return last.with_event(
            jobs=[row for before, row in rows if row != before],
            gone=[job.id for name, job in known.items() if name not in names],
        )

    def _row(self, job: TrainingJob, known: Job | None, cluster: Cluster) -> Job:
        """What the platform knows: what the user said, and what was measured."""
        speeds, one_worker = self._speeds(job, cluster)
        row = known or Job(
            id=JobId(job.name),
            queue=QUEUE,
            priority=0,
            submitted_at_ms=job.submitted_at_s * 1000,
            num_workers=1,
            accelerators_milli=DEVICE_MILLI,
            min_workers=1,
        )
        return replace(
            row,
            max_workers=self._most_workers(job, cluster),
            speeds=speeds,
            remaining_ms=self._remaining_ms(job, one_worker),
            restart_cost_ms=self._restart_ms,
            attained_milli_ms=int(job.service_device_s * DEVICE_MILLI * 1000),
            placed_at_ms=None,
        )

    def _most_workers(self, job: TrainingJob, cluster: Cluster) -> int:
        measured = job.estimates.most_devices
        first = job.num_wanted if job.fixed_batch is not None else FIRST_MOST_WORKERS
        most = max(GROWTH_FACTOR * measured, 1) if measured else first
        return min(most, job.most_devices, cluster.num_devices)

    def _remaining_ms(self, job: TrainingJob, one_worker: float) -> int | None:
        if not self._declares:
            return None
        return round(job.remaining_steps() / one_worker * 1000) if one_worker else UNMEASURED_REMAINING_MS

    def _speeds(self, job: TrainingJob, cluster: Cluster) -> tuple[tuple[tuple[int, int], ...], float]:
        """Expected speed by size, in thousandths of one worker's, and that one's progress per second."""
        if job.estimates.model is None:
            return (), 0.0
        basis = (job.estimates.version, job.epoch, self._most_workers(job, cluster))
        known = self._tables.get(job.name)
        if known is None or known[0] != basis:
            node = cluster.devices_per_node
            sizes = [size for size in range(1, basis[2] + 1) if size <= node or not size % node]
            goodputs = job.expected_goodputs([(len(compact(size, node)), size) for size in sizes])
            tried = job.estimates.sizes
            goodputs = [
                each if size in tried or size < min(tried) else each * UNTRIED_FACTOR
                for size, each in zip(sizes, goodputs, strict=True)
            ]
            speeds = tuple(
                (size, round(1000 * each / goodputs[0])) for size, each in zip(sizes, goodputs, strict=True)
            )
            known = self._tables[job.name] = (basis, speeds, goodputs[0])
        return known[1], known[2]


def _nodes(cluster: Cluster) -> list[Node]:
    return [
        Node(
            name=NodeName(f"{number:03}"),
            domains={},
            accelerator_type="any",
            num_devices=cluster.devices_per_node,
            links=("0",) * cluster.devices_per_node,
            cpus_milli=0,
            memory_bytes=0,
        )
        for number in range(cluster.num_nodes)
    ]


def _after(plan: Plan, rows: Mapping[JobId, Job], *, now_ms: int) -> list[Job]:
    """The rows that the plan changes, as if everybody who leaves were gone at once."""
    changed = {
        start.job: replace(
            rows[start.job], phase=JobPhase.PLACED, placement=start.placement, placed_at_ms=now_ms
        )
        for start in plan.starts
    }
    for resize in plan.resizes:
        changed[resize.job] = replace(rows[resize.job], placement=resize.placement)
    for eviction in plan.evictions:
        changed[eviction.job] = replace(
            rows[eviction.job], phase=JobPhase.WAITING, placement=(), placed_at_ms=None
        )
    return list(changed.values())


def _allocation(placement: Placement) -> Allocation:
    """Nodes by rank, those alike side by side."""
    return tuple(sorted(int(worker.node) for worker in placement))
