"""A small platform in the database: people, queues, nodes, a conductor; and short ways to move jobs on it."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from cluster.services import record_inventory, take_epoch
from jobs.lifecycle import Cause, State, Trigger
from jobs.models import Attempt, Job
from jobs.services.attempts import open_attempt
from jobs.services.ingest import ingest_reports
from jobs.services.submit import submit_job
from jobs.services.transition import Step, transition
from quotas.models import Queue
from ray_runtime.protocol import EndCause, Inventory, NodeReport, Report, ReportKind
from scheduling.model import NodeName, Worker
from tests.accounts.builders import Cast, make_cast

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
INCARNATION = "conductor-1"


def at(seconds: float) -> datetime:
    """So many seconds after the world began."""
    return NOW + timedelta(seconds=seconds)


@dataclass(slots=True, kw_only=True)
class World:
    """Who and what there is. `reported` counts the conductor's reports."""

    cast: Cast
    queue_a: Queue
    queue_b: Queue
    epoch: int
    reported: int = 0
    nodes: tuple[str, ...] = field(default=("n1", "n2"))

    def submit(self, *, now: datetime = NOW, **changes: Any) -> Job:
        """A job of team A's owner: one worker with four devices, unless changed."""
        return submit_job(user=self.cast.owner, document=document(**changes), code=None, now=now)

    def place(self, job: Job, *, nodes: tuple[str, ...] = ("n1",), now: datetime = NOW) -> Attempt:
        """Give the job four devices on each of these nodes; its attempt."""
        placement = tuple(Worker(node=NodeName(node), devices=(0, 1, 2, 3)) for node in nodes)
        effect = open_attempt(placement, accelerator_type="slot")
        transition(job.id, step=Step(trigger=Trigger.PLACE, cause=Cause.PLACED, effect=effect), now=now)
        return Attempt.objects.get(job=job, ended_at__isnull=True)

    def running(self, *, node: str = "n1", now: datetime = NOW, **changes: Any) -> tuple[Job, Attempt]:
        """A job that runs on one node."""
        job = self.submit(now=now, **changes)
        attempt = self.place(job, nodes=(node,), now=now)
        self.report(attempt, ReportKind.RUNNING, now=now)
        return fresh(job), attempt

    def report(
        self, attempt: Attempt, kind: ReportKind, *, now: datetime = NOW, seq: int | None = None, **told: Any
    ) -> int:
        """The conductor reports of an attempt; the acknowledged number."""
        self.reported = seq or self.reported + 1
        report = Report(
            seq=self.reported,
            kind=kind,
            job_id=str(attempt.job_id),
            attempt_id=str(attempt.id),
            at_ms=0,
            **told,
        )
        return ingest_reports(epoch=self.epoch, incarnation=INCARNATION, reports=[report], now=now)

    def end(
        self, attempt: Attempt, cause: EndCause = EndCause.COMPLETED, *, now: datetime = NOW, **told: Any
    ) -> Job:
        """The conductor reports that an attempt has ended; the job afterwards."""
        self.report(attempt, ReportKind.ENDED, now=now, cause=cause, **told)
        return Job.objects.get(id=attempt.job_id)

    def hear(self, *attempts: Attempt, now: datetime = NOW, rebuilt: bool = True, alive: bool = True) -> None:
        """An inventory comes, in which the conductor holds these attempts."""
        held = {str(attempt.id): "running" for attempt in attempts}
        record_inventory(inventory(self.epoch, held, nodes=self.nodes, rebuilt=rebuilt, alive=alive), now=now)


def make_world() -> World:
    """Two teams, a queue each, two nodes of four devices, one conductor."""
    cast = make_cast()
    queue_a = Queue.objects.create(path="a", team=cast.team_a, guarantee_milli=4000, created_at=NOW)
    queue_b = Queue.objects.create(path="b", team=cast.team_b, guarantee_milli=4000, created_at=NOW)
    epoch = take_epoch(incarnation=INCARNATION, now=NOW)
    world = World(cast=cast, queue_a=queue_a, queue_b=queue_b, epoch=epoch)
    world.hear()
    return world


def document(**changes: Any) -> dict[str, Any]:
    """A job file for queue A: one worker with four devices."""
    plain = {
        "name": "微调 7B 第一次",
        "queue": "a",
        "run": "python train.py",
        "resources": {"accelerators": 4},
    }
    return {key: value for key, value in {**plain, **changes}.items() if value is not None}


def inventory(
    epoch: int,
    attempts: dict[str, str],
    *,
    nodes: tuple[str, ...] = ("n1", "n2"),
    rebuilt: bool = True,
    alive: bool = True,
) -> Inventory:
    """What the conductor tells every second."""
    return Inventory(
        epoch=epoch,
        incarnation=INCARNATION,
        at_ms=0,
        nodes=tuple(node_report(name, alive=alive) for name in nodes),
        attempts=attempts,
        rebuilt=rebuilt,
    )


def node_report(name: str, *, alive: bool = True) -> NodeReport:
    """A node of four slots in its own rack."""
    return NodeReport(
        name=name,
        ray_node_id=f"{name:0>56}",
        address="127.0.0.3",
        alive=alive,
        labels={"gangline.node": name, "gangline.zone": "z1", "gangline.rack": f"rack-{name}"},
        accelerator_type="slot",
        num_accelerators=4,
        cpus_milli=4000,
        memory_bytes=2**33,
    )


def fresh(job: Job | UUID) -> Job:
    """The job as the database has it now."""
    return Job.objects.get(id=job if isinstance(job, UUID) else job.id)


def used_milli(path: str = "a") -> int:
    """What the ledger says is in use in a queue."""
    return Queue.objects.get(path=path).used_milli


def force_state(job: Job, state: State) -> None:
    """For tests of lists alone: a state that nothing led to."""
    ended = NOW if state in (State.SUCCEEDED, State.FAILED, State.CANCELLED) else None
    Job.objects.filter(id=job.id).update(state=state, finished_at=ended)
