"""The jobs' rows as the engine sees them. `live.py` puts them together with nodes and queues."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from accounts.models import User
from jobs import models
from jobs.lifecycle import State
from jobs.models import Attempt
from jobs.services.submit import Submission, predicted_ms
from jobs.spec_model import JobSpec, Parallelism
from jobs.spec_scale import members
from scheduling.model import Job, JobId, JobPhase, NodeName, Placement, QueuePath, TopologyRule, Worker
from scheduling.sizes import size_up_to

RESTART_COST_MS = 10_000  # what an eviction costs beside the steps since the last checkpoint
_PHASES = {
    State.QUEUED: JobPhase.WAITING,
    State.STARTING: JobPhase.PLACED,
    State.RUNNING: JobPhase.PLACED,
    State.STOPPING: JobPhase.LEAVING,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A job's row as far as the engine is concerned."""

    job: Job
    state: State
    version: int
    not_before: datetime | None

    def is_aside(self, now: datetime) -> bool:
        """Whether the engine is not to look at it: held, or in its backoff."""
        is_early = self.not_before is not None and self.not_before > now
        return self.state is State.HELD or (self.state is State.QUEUED and is_early)

    def depending_on(self, others: frozenset[JobId]) -> "Row":
        """The same, to start after these jobs have ended."""
        return replace(self, job=replace(self.job, depends_on=others)) if others else self


def read_rows(*, since: int | None) -> list[Row]:
    """The jobs that were changed by transactions from this number on, ended ones too; None: all that have not
    ended.
    """
    jobs = models.Job.objects.order_by()
    jobs = jobs.exclude(state__in=models.TERMINAL) if since is None else jobs.filter(changed_xid__gte=since)
    rows = list(jobs.values(*_COLUMNS))
    placed = [row["id"] for row in rows if row["state"] in models.PLACED]
    attempts = _live_attempts(placed)
    return [_row(row, attempts.get(row["id"])) for row in rows]


def jobs_asked_for(submission: Submission, *, user: User, now: datetime) -> Iterator[Job]:
    """The job, or those of the array, that are not stored, as they would wait now: for predictions."""
    asked = submission.spec
    if not asked.array:
        yield _job_asked_for(submission, asked, user=user, now=now)
        return
    array = str(uuid4())
    for _values, own in members(asked):
        job = _job_asked_for(submission, own, user=user, now=now)
        yield replace(job, array=array, array_cap=asked.concurrent)


def _job_asked_for(submission: Submission, wanted: JobSpec, *, user: User, now: datetime) -> Job:
    return Job(
        id=JobId(str(uuid4())),
        queue=QueuePath(submission.queue.path),
        priority=wanted.priority,
        submitted_at_ms=milliseconds(now),
        num_workers=wanted.workers.want,
        min_workers=wanted.workers.least,
        max_workers=wanted.workers.most,
        step_workers=wanted.parallelism.step_workers if wanted.parallelism else 1,
        group_workers=wanted.group_workers,
        user=user.username,
        predicted_ms=predicted_ms(submission, wanted, user=user, now=now),
        accelerators_milli=wanted.resources.accelerators_milli,
        cpus_milli=wanted.resources.cpus_milli,
        memory_bytes=wanted.resources.memory_bytes,
        types=wanted.resources.types,
        topology=(
            (TopologyRule(level=wanted.topology.within, preferred=wanted.topology.preferred),)
            if wanted.topology
            else ()
        ),
        grace_ms=wanted.limits.grace_seconds * 1000,
        depends_on=frozenset(map(JobId, wanted.depends_on)),
        max_runtime_ms=_longest_ms(wanted.limits.max_runtime_seconds, wanted.limits.grace_seconds),
        restart_cost_ms=RESTART_COST_MS,
    )


def devices_used() -> dict[str, dict[int, list[UUID]]]:
    """Node name -> device index -> the jobs on it, of every live attempt (also those that are leaving)."""
    used: dict[str, dict[int, list[UUID]]] = {}
    for job_id, placement in _placements():
        for worker in placement:
            for device in worker["devices"]:
                used.setdefault(worker["node"], {}).setdefault(device, []).append(job_id)
    return used


def _placements() -> Iterator[tuple[UUID, list[dict[str, Any]]]]:
    yield from Attempt.objects.filter(ended_at__isnull=True).values_list("job_id", "placement")


_COLUMNS = (
    *("id", "queue__path", "priority", "submitted_at", "num_workers", "accelerators_milli", "cpus_milli"),
    *("memory_bytes", "spec__resources", "spec__topology", "spec__parallelism", "grace_seconds"),
    *("max_runtime_seconds", "state", "version", "kept", "saved_at", "not_before", "owner__username"),
    *("min_workers", "max_workers", "array_id", "array__cap", "predicted_ms", "attained_milli_ms"),
)


_OF_ATTEMPTS = ("job_id", "placement", "ordered_at", "running_at")


def _live_attempts(jobs: list[UUID]) -> dict[UUID, Mapping[str, Any]]:
    live = Attempt.objects.filter(job__in=jobs, ended_at__isnull=True)
    return {row["job_id"]: row for row in live.values(*_OF_ATTEMPTS)}


def _row(row: Mapping[str, Any], attempt: Mapping[str, Any] | None) -> Row:
    return Row(
        job=_job(row, attempt),
        state=State(row["state"]),
        version=row["version"],
        not_before=row["not_before"],
    )


def _job(row: Mapping[str, Any], attempt: Mapping[str, Any] | None) -> Job:
    parallelism = Parallelism(**stored_parallelism(row["spec__parallelism"]))
    job = Job(
        id=JobId(str(row["id"])),
        queue=QueuePath(row["queue__path"]),
        priority=row["priority"],
        submitted_at_ms=milliseconds(row["submitted_at"]),
        num_workers=row["num_workers"],
        accelerators_milli=row["accelerators_milli"],
        cpus_milli=row["cpus_milli"],
        memory_bytes=row["memory_bytes"],
        user=row["owner__username"],
        min_workers=row["min_workers"],
        max_workers=row["max_workers"],
        step_workers=parallelism.step_workers,
        group_workers=1 if _is_wish(row["spec__topology"]) else parallelism.tensor,
        types=tuple(row["spec__resources"].get("types", ())),
        topology=_topology(row["spec__topology"]),
        grace_ms=row["grace_seconds"] * 1000,
        array=str(row["array_id"] or ""),
        array_cap=row["array__cap"],
        max_runtime_ms=_longest_ms(row["max_runtime_seconds"], row["grace_seconds"]),
        predicted_ms=row["predicted_ms"],
        attained_milli_ms=row["attained_milli_ms"],
        phase=_PHASES.get(row["state"], JobPhase.WAITING),
        placement=placement_of(attempt["placement"]) if attempt else (),
        kept=placement_of(row["kept"]),
        placed_at_ms=milliseconds(attempt["running_at"] or attempt["ordered_at"]) if attempt else None,
        saved_at_ms=milliseconds(row["saved_at"]) if row["saved_at"] else None,
        restart_cost_ms=RESTART_COST_MS,
    )
    return in_one_piece(job) if attempt else job


def in_one_piece(job: Job) -> Job:
    """A gang that holds devices, without surplus below what its user wants: it cannot shrink in place, so
    every worker that it gives up costs the restart of the whole gang, and the engine has to count that.
    """
    if job.min_workers is None:
        return job
    size = min(len(job.placement), size_up_to(job, job.num_workers))
    return replace(job, min_workers=max(job.least_workers, size))


def _longest_ms(limit_seconds: int | None, grace_seconds: int) -> int | None:
    """How long it may hold its devices: whoever is over its limit is told to leave, and has its grace."""
    return None if limit_seconds is None else (limit_seconds + grace_seconds) * 1000


def stored_parallelism(stored: Mapping[str, Any] | None) -> dict[str, int]:
    """The degrees of a stored document, for `Parallelism`."""
    names = ("tensor", "pipeline", "expert", "context")
    return {name: stored[name] for name in names} if stored else {}


def _is_wish(topology: Mapping[str, Any] | None) -> bool:
    return bool(topology and topology.get("tensor", {}).get("preferred"))


def placement_of(rows: list[dict[str, Any]]) -> Placement:
    """A stored placement (of an attempt, or kept for a job) as the engine's."""
    return tuple(Worker(node=NodeName(row["node"]), devices=tuple(row["devices"])) for row in rows)


def _topology(stored: Mapping[str, Any] | None) -> tuple[TopologyRule, ...]:
    if not stored or "job" not in stored:
        return ()
    return (TopologyRule(level=stored["job"]["within"], preferred=stored["job"]["preferred"]),)


def milliseconds(moment: datetime) -> int:
    """A moment as the engine counts: whole milliseconds since 1970 (UTC)."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
