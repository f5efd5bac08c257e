"""Our engine in the replay: it keeps a snapshot from event to event and carries out what `decide` plans.

Eviction takes no time here (jobs save at once, and the restart pays for it), so what a plan frees is free in
the same moment and `decide` is asked again, until it changes nothing. Every job is in one queue: the
baselines know of no shares either.
"""

from dataclasses import replace

from scheduling.decide import decide
from scheduling.model import (
    NODE_LEVEL,
    Job,
    JobId,
    JobPhase,
    Node,
    NodeName,
    Order,
    Placement,
    Policy,
    Queue,
    QueuePath,
    Start,
)
from scheduling.prediction import Features, Grounds, History, RunRecord
from scheduling.simulation.rigid.fleet import Fleet
from scheduling.simulation.rigid.levels import Levels
from scheduling.simulation.rigid.replay import Decision, State
from scheduling.simulation.rigid.runs import Place, RigidJob, Run
from scheduling.snapshot import Snapshot

QUEUE = QueuePath("q")
DEVICE_MILLI = 1000


class Engine:
    """`decide` as a policy of the replay. `quantile`: of the predictions, which it learns from ended jobs;
    None: it predicts nothing.
    """

    def __init__(self, policy: Policy, *, fleet: Fleet, quantile: float | None = None) -> None:
        self._policy = replace(policy, explains=False)
        self._levels = _levels(policy)
        self._quantile = quantile
        self._per_node = fleet.per_node
        self._history = History()
        self._is_up = list(fleet.is_up)
        self._changed: dict[JobId, Job] = {}
        self._gone: list[JobId] = []
        self.snapshot = Snapshot.of(
            nodes=_nodes(fleet), queues=[Queue(path=QUEUE)], jobs=(), levels=(NODE_LEVEL,)
        )
        self._rows: dict[JobId, Job] = {}

    def submitted(self, run: Run) -> None:
        """A new row."""
        self._change(self._row(run))

    def stopped(self, run: Run) -> None:
        """The row waits again, with what it has attained and what is left."""
        self._change(self._row(run))

    def ended(self, run: Run) -> None:
        """The row goes, the history learns."""
        name = job_id(run.job)
        del self._rows[name]
        self._gone.append(name)
        self._changed.pop(name, None)
        if self._quantile is not None:
            self._history.add(RunRecord(features=features_of(run.job), runtime_ms=run.job.runtime_ms))

    def decide(self, state: State, now_ms: int) -> Decision:
        """Plans until a plan changes nothing; what all of them together start and evict."""
        evictions: dict[JobId, Run] = {}
        starts: dict[JobId, tuple[Run, Place]] = {}
        self._heed_nodes(state.fleet)
        if self._quantile is not None and self._policy.num_reservations:
            self._predict_anew(state, now_ms)
        while True:
            self._catch_up()
            plan = decide(self.snapshot, now_ms, self._policy)
            kept = {keep.job: keep.placement for keep in plan.keeps}
            for name in self._keeping(kept):
                self._change(replace(self._rows[name], kept=kept.get(name, ())))
            for eviction in plan.evictions:
                if starts.pop(eviction.job, None) is None:
                    evictions[eviction.job] = state.running[int(eviction.job)]
                self._change(self._row(self._run(state, eviction.job), now_ms=now_ms))
            for start in plan.starts:
                starts[start.job] = (self._run(state, start.job), _place(start.placement))
                self._change(_placed(self._rows[start.job], start, now_ms))
            if not plan.evictions:
                self._catch_up()
                return Decision(list(evictions.values()), list(starts.values()))

    def next_change_ms(self, state: State, now_ms: int) -> int | None:
        """When the next running job falls below the level of somebody who waits, who may then evict it."""
        if self._levels is None or not state.waiting:
            return None
        levels = {self._levels.of(run, now_ms) for run in state.waiting.values()}
        return self._levels.next_fall_ms(state.running.values(), levels, now_ms)

    @staticmethod
    def _run(state: State, name: JobId) -> Run:
        return state.waiting.get(int(name)) or state.running[int(name)]

    def _keeping(self, kept: dict[JobId, Placement]) -> list[JobId]:
        """The rows whose kept devices are others than before."""
        before = {job.id for job in self.snapshot.jobs if job.kept}
        return [name for name in sorted(before | kept.keys()) if self._rows[name].kept != kept.get(name, ())]

    def _predict_anew(self, state: State, now_ms: int) -> None:
        """Running jobs that outlived their prediction are told from those that ran as long, and stay so until
        they outlive that too: an end that recedes with every moment would keep nothing for anybody.
        """
        for run in state.running.values():
            row = self._rows[job_id(run.job)]
            ran_ms = now_ms - run.started_ms
            if row.predicted_ms is not None and row.predicted_ms > ran_ms:
                continue
            left_ms = self._predicted_ms(run.job, run.progress_ms(now_ms))
            if left_ms is not None:
                self._change(replace(row, predicted_ms=ran_ms + max(left_ms, 1)))

    def _change(self, row: Job) -> None:
        self._rows[row.id] = self._changed[row.id] = row

    def _catch_up(self) -> None:
        if self._changed or self._gone:
            self.snapshot = self.snapshot.with_event(jobs=self._changed.values(), gone=self._gone)
            self._changed, self._gone = {}, []

    def _heed_nodes(self, fleet: Fleet) -> None:
        if fleet.is_up != self._is_up:
            self._is_up = list(fleet.is_up)
            self.snapshot = self.snapshot.with_event(nodes=_nodes(fleet))

    def _row(self, run: Run, *, now_ms: int = 0) -> Job:
        """The job as it waits; `now_ms`: it is being evicted."""
        job, done_ms = run.job, run.progress_ms(now_ms)
        devices = job.worker_devices(self._per_node)
        return Job(
            id=job_id(job),
            queue=QUEUE,
            priority=0,
            submitted_at_ms=job.submitted_ms,
            num_workers=job.num_devices // devices,
            accelerators_milli=devices * DEVICE_MILLI,
            user=job.user,
            max_runtime_ms=None if job.limit_ms is None else job.limit_ms - done_ms,
            predicted_ms=self._predicted_ms(job, done_ms),
            attained_milli_ms=run.attained_ms(now_ms) * job.num_devices * DEVICE_MILLI,
        )

    def _predicted_ms(self, job: RigidJob, done_ms: int) -> int | None:
        """What is left of the run time predicted."""
        if self._quantile is None:
            return None
        prediction = self._history.predict(features_of(job), self._quantile, ran_ms=done_ms)
        return None if prediction.basis is Grounds.NONE or prediction.ms is None else prediction.ms - done_ms


def job_id(job: RigidJob) -> JobId:
    """An id whose order is that of submission."""
    return JobId(f"{job.number:09d}")


def features_of(job: RigidJob) -> Features:
    """What the trace tells before a job runs."""
    return Features(user=job.user, queue=job.user, num_devices=job.num_devices)


def _levels(policy: Policy) -> Levels | None:
    """The levels by which the policy evicts, if it does."""
    if not policy.preempts or policy.order is not Order.LEAST_ATTAINED:
        return None
    return Levels(quantum_ms=policy.service_quantum_milli_ms // DEVICE_MILLI, damps_size=policy.damps_size)


def _placed(row: Job, start: Start, now_ms: int) -> Job:
    return replace(
        row,
        phase=JobPhase.PLACED,
        placement=start.placement,
        placed_at_ms=now_ms,
        saved_at_ms=now_ms,
        kept=(),
    )


def _place(placement: Placement) -> Place:
    """By node, as the fleet counts."""
    devices: dict[int, int] = {}
    for worker in placement:
        node = int(worker.node)
        devices[node] = devices.get(node, 0) + len(worker.devices)
    return tuple(devices.items())


def _nodes(fleet: Fleet) -> list[Node]:
    return [
        Node(
            name=NodeName(f"{node:05d}"),
            domains={},
            accelerator_type="any",
            num_devices=fleet.per_node,
            links=(f"{node:05d}",) * fleet.per_node,
            cpus_milli=0,
            memory_bytes=0,
            usable=fleet.is_up[node],
        )
        for node in range(fleet.num_nodes)
    ]
