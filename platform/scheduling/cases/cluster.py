"""A cluster on a virtual clock: runs a case against `decide` and writes down its history."""

from scheduling.cases.document import Case, Event
from scheduling.cases.fields import CaseError
from scheduling.cases.history import History, Seen
from scheduling.cases.rows import MILLISECONDS, ROOT, levels_of
from scheduling.cases.state import ClusterState
from scheduling.decide import decide
from scheduling.invariants import check
from scheduling.model import Evict, EvictionKind, Job, JobId, JobPhase, Plan, Policy, QueuePath
from scheduling.snapshot import Snapshot

MOST_ROUNDS = 1000  # of deciding at one moment


class VirtualCluster:
    """Nodes, queues and jobs of one case, and the clock."""

    def __init__(self, case: Case, *, policy: Policy | None = None) -> None:
        self._case = case
        self._policy = policy or case.policy
        self._levels = levels_of(case.nodes)
        self._parents = {queue.path: queue.parent for queue in case.queues}
        self._incomplete: set[str] = set()  # gangs of which not all pods are known
        self._state = ClusterState(case.nodes)
        self.history = History()

    def run(self, *, until: int) -> None:
        """Runs the clock from 0, noting the settled state at every moment at which something may change."""
        t: int | None = 0
        while t is not None and t <= until:
            self._state.end_due(t)
            self._apply_events(t)
            plan = self._settle(t)
            self.history.seen[t] = self._seen(t, plan)
            times = [event.t for event in self._case.events] + [self._state.next_change() or -1, until]
            t = min((later for later in times if later > t), default=None)

    def snapshot(self) -> Snapshot:
        """The rows as they are now."""
        return Snapshot.of(
            nodes=self._state.nodes.values(),
            queues=self._case.queues,
            jobs=self._state.jobs.values(),
            levels=self._levels,
        )

    def _apply_events(self, t: int) -> None:
        events = [event for event in self._case.events if event.t == t]
        for place_in_line, event in enumerate(events):
            try:
                self._apply(event, place_in_line)
            except CaseError as error:
                self.history.problems.append((t, f"{event.op}: {error}"))
        ran = self._running()
        self.history.before.update({event.name: ran for event in events if event.op in ("submit", "pods")})

    def _apply(self, event: Event, place_in_line: int) -> None:
        state, name = self._state, JobId(event.name)
        match event.op:
            case "running" | "submit":
                assert event.job is not None
                state.submit(event.job, event.t, place_in_line=place_in_line)
                if event.op == "running":
                    state.place_on(name, event.nodes, event.t)
                    self.history.first_starts[name] = event.t
            case "pods":
                self._learn(event, place_in_line)
            case "want":
                state.want(name, event.number)
            case "pod_done":
                state.finish_pods(name, event.nodes, event.number)
            case "restart":
                state.restart(name, event.t)
            case "cancel" | "end" | "remove":
                self._incomplete.discard(name)
                state.remove(name)
            case health:
                state.set_health(health, event.nodes)

    def _learn(self, event: Event, place_in_line: int) -> None:
        """A gang is submitted when all its pods are known."""
        assert event.job is not None
        if event.job.row.id in self._state.jobs:
            return
        self._incomplete.add(event.name)
        if event.number >= event.job.row.num_workers:
            self._incomplete.remove(event.name)
            self._state.submit(event.job, event.t, place_in_line=place_in_line)

    def _settle(self, t: int) -> Plan:
        """Decides and carries out until a plan changes nothing."""
        for _ in range(MOST_ROUNDS):
            snapshot = self.snapshot()
            plan = decide(snapshot, t * MILLISECONDS, self._policy)
            violations = check(snapshot, plan, now_ms=t * MILLISECONDS)
            self.history.problems += [(t, f"invariant: {violation}") for violation in violations]
            self._carry_out(plan, t)
            if not (plan.starts or plan.evictions or plan.resizes or plan.repairs):
                return plan
        self.history.problems.append((t, f"the engine has not settled after {MOST_ROUNDS} plans"))
        return plan

    def _carry_out(self, plan: Plan, t: int) -> None:
        state = self._state
        state.keep({keep.job: keep.placement for keep in plan.keeps})
        for eviction in plan.evictions:
            self._evict(eviction, t)
        for resize in plan.resizes:
            self._count_removed(state.jobs[resize.job], len(resize.placement))
            state.resize(resize.job, resize.placement, t)
        for repair in plan.repairs:
            is_elastic = state.jobs[repair.job].is_elastic
            (state.resize if is_elastic else state.place)(repair.job, repair.placement, t)
        for start in plan.starts:
            state.place(start.job, start.placement, t)
            self.history.first_starts.setdefault(start.job, t)
        state.end_due(t)

    def _evict(self, eviction: Evict, t: int) -> None:
        incomplete = eviction.kind is EvictionKind.INCOMPLETE
        counter = self.history.withdrawals if incomplete else self.history.evictions
        counter[eviction.job] += 1
        self.history.beneficiaries[eviction.job] = eviction.beneficiary
        self._state.evict(eviction.job, t, at_once=incomplete)

    def _count_removed(self, job: Job, num_left: int) -> None:
        """Pods that the user no longer wants are not taken."""
        removed = min(len(job.placement), job.num_workers) - num_left
        self.history.pods_removed[job.id] += max(removed, 0)

    def _running(self) -> dict[str, list[str]]:
        holding = {name: job for name, job in self._state.jobs.items() if job.phase is not JobPhase.WAITING}
        return {name: sorted(worker.node for worker in job.placement) for name, job in holding.items()}

    def _seen(self, t: int, plan: Plan) -> Seen:
        jobs = self._state.jobs
        running = self._running()
        devices = {name: _held_milli(job) for name, job in jobs.items()}
        return Seen(
            t=t,
            running=running,
            pending=frozenset(self._incomplete | jobs.keys() - running.keys()),
            reasons={str(name): reason for name, reason in plan.reasons.items()},
            etas={str(name): eta for name, eta in plan.etas.items()},
            usage={path: _whole(milli) for path, milli in self._usage(devices).items()},
            usage_by_type=self._usage_by_type(),
            devices={name: _whole(milli) for name, milli in devices.items()},
            sizes={name: _sizes(job) for name, job in jobs.items()},
        )

    def _usage_by_type(self) -> dict[str, dict[str, int | float]]:
        """Of every queue on each accelerator type (a gang stays on one)."""
        held: dict[str, dict[JobId, int]] = {}
        for name, job in self._state.jobs.items():
            for worker in (job.placement + job.releasing)[:1]:
                accelerator_type = self._state.nodes[worker.node].accelerator_type
                held.setdefault(accelerator_type, {})[name] = _held_milli(job)
        found: dict[str, dict[str, int | float]] = {}
        for accelerator_type, devices in held.items():
            for path, milli in self._usage(devices).items():
                found.setdefault(path, {})[accelerator_type] = _whole(milli)
        return found

    def _upwards(self, queue: QueuePath) -> list[QueuePath]:
        """The queue and those above it; a loop of parents ends where it closes."""
        chain: list[QueuePath] = []
        step: QueuePath | None = queue
        while step is not None and step not in chain:
            chain.append(step)
            step = self._parents.get(step)
        return chain

    def _usage(self, devices: dict[JobId, int]) -> dict[str, int]:
        """Of every queue, and of the root above them all, in milli-units."""
        usage: dict[str, int] = dict.fromkeys([*self._parents, ROOT], 0)
        for name, milli in devices.items():
            for path in self._upwards(self._state.jobs[name].queue):
                usage[path] = usage.get(path, 0) + milli
            usage[ROOT] += 0 if ROOT in self._parents else milli
        return usage


def _held_milli(job: Job) -> int:
    return (len(job.placement) + len(job.releasing)) * job.accelerators_milli


def _sizes(job: Job) -> tuple[int, int]:
    return job.least_workers, job.most_workers


def _whole(milli: int) -> int | float:
    return milli // 1000 if milli % 1000 == 0 else milli / 1000
