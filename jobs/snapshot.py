"""The jobs' rows as the engine sees them, together with supply and queues: one `Snapshot` per tick."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from cluster.selectors import supply
from jobs import models
from jobs.lifecycle import State
from jobs.models import Attempt
from jobs.services.submit import Submission
from quotas.selectors import demand
from scheduling.model import Job, JobId, JobPhase, NodeName, Placement, QueuePath, TopologyRule, Worker
from scheduling.snapshot import Snapshot

RESTART_COST_MS = 10_000  # what an eviction costs beside the steps since the last checkpoint
_PHASES = {
    State.QUEUED: JobPhase.WAITING,
    State.STARTING: JobPhase.PLACED,
    State.RUNNING: JobPhase.PLACED,
    State.STOPPING: JobPhase.LEAVING,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A snapshot, and the version of each job in it: a decision holds only for that version."""

    snapshot: Snapshot
    versions: Mapping[JobId, int]


def read_snapshot(*, now: datetime) -> Reading:
    """Everything that the engine decides on. Call it in one repeatable-read transaction."""
    placements = _live_attempts()
    jobs, versions = [], {}
    for row in _decided_on(now):
        jobs.append(_job(row, placements.get(row["id"])))
        versions[JobId(str(row["id"]))] = row["version"]
    return Reading(snapshot=snapshot_of(jobs), versions=versions)


def snapshot_of(jobs: list[Job]) -> Snapshot:
    """These jobs on the cluster and queues as they are now."""
    return Snapshot.of(nodes=supply(), queues=demand(), jobs=jobs, levels=settings.ENV.topology_levels)


def job_asked_for(submission: Submission, *, job_id: JobId, now: datetime) -> Job:
    """A job that is not stored, as it would wait now: for predictions."""
    wanted = submission.spec
    longest = wanted.limits.max_runtime_seconds
    return Job(
        id=job_id,
        queue=QueuePath(submission.queue.path),
        priority=wanted.priority,
        submitted_at_ms=milliseconds(now),
        num_workers=wanted.workers,
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
        max_runtime_ms=None if longest is None else longest * 1000,
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


def _decided_on(now: datetime) -> Iterable[Mapping[str, Any]]:
    """Waiting jobs whose backoff is over, and everything that holds devices."""
    ready = Q(state=State.QUEUED) & (Q(not_before__isnull=True) | Q(not_before__lte=now))
    placed = Q(state__in=models.PLACED)
    rows: Iterable[Mapping[str, Any]] = models.Job.objects.filter(ready | placed).values(
        *("id", "queue__path", "priority", "submitted_at", "num_workers", "accelerators_milli", "cpus_milli"),
        *("memory_bytes", "spec__resources", "spec__topology", "grace_seconds", "max_runtime_seconds"),
        *("state", "version", "kept", "saved_at"),
    )
    return rows


def _live_attempts() -> dict[UUID, Mapping[str, Any]]:
    rows = Attempt.objects.filter(ended_at__isnull=True).values("job_id", "placement", "ordered_at")
    return {row["job_id"]: row for row in rows}


def _job(row: Mapping[str, Any], attempt: Mapping[str, Any] | None) -> Job:
    longest = row["max_runtime_seconds"]
    return Job(
        id=JobId(str(row["id"])),
        queue=QueuePath(row["queue__path"]),
        priority=row["priority"],
        submitted_at_ms=milliseconds(row["submitted_at"]),
        num_workers=row["num_workers"],
        accelerators_milli=row["accelerators_milli"],
        cpus_milli=row["cpus_milli"],
        memory_bytes=row["memory_bytes"],
        types=tuple(row["spec__resources"].get("types", ())),
        topology=_topology(row["spec__topology"]),
        grace_ms=row["grace_seconds"] * 1000,
        max_runtime_ms=None if longest is None else longest * 1000,
        phase=_PHASES[row["state"]],
        placement=placement_of(attempt["placement"]) if attempt else (),
        kept=placement_of(row["kept"]),
        placed_at_ms=milliseconds(attempt["ordered_at"]) if attempt else None,
        saved_at_ms=milliseconds(row["saved_at"]) if row["saved_at"] else None,
        restart_cost_ms=RESTART_COST_MS,
    )


def placement_of(rows: list[dict[str, Any]]) -> Placement:
    """A stored placement (of an attempt, or kept for a job) as the engine's."""
    return tuple(Worker(node=NodeName(row["node"]), devices=tuple(row["devices"])) for row in rows)


def _topology(stored: Mapping[str, Any] | None) -> tuple[TopologyRule, ...]:
    if not stored:
        return ()
    return (TopologyRule(level=stored["job"]["within"], preferred=stored["job"]["preferred"]),)


def milliseconds(moment: datetime) -> int:
    """A moment as the engine counts: whole milliseconds since 1970 (UTC)."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
