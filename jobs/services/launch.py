"""What the cluster is told to run: the launch order of one attempt, from the job's own spec."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from artifacts.models import Checkpoint, CheckpointState
from jobs.errors import CheckpointGone
from jobs.models import Attempt, Job
from ray_runtime.protocol import LaunchSpec, WorkerSlot, attempt_token
from scheduling.model import Placement


def launch_spec(job: Job, attempt: Attempt) -> LaunchSpec:
    """The order for this attempt.

    Raises `CheckpointGone` where the checkpoint to start from is not there any more.
    """
    wanted = job.spec  # read as it is: what was accepted once is not judged again by newer rules
    return LaunchSpec(
        job_id=str(job.id),
        job_name=job.name,
        attempt_id=str(attempt.id),
        attempt_number=attempt.number,
        token=attempt_token(settings.ENV.secret_key, str(attempt.id)),
        workers=_slots(attempt.placement),
        accelerators_milli=job.accelerators_milli,
        accelerator_type=attempt.accelerator_type,
        cpus_milli=job.cpus_milli,
        memory_bytes=job.memory_bytes,
        command=wanted.get("run"),
        recipe=wanted.get("recipe"),
        params=wanted.get("params", {}),
        variables=wanted.get("environment", {}).get("variables", {}),
        code_sha256=job.code.sha256 if job.code else None,
        checkpoint_dir=str(checkpoint_dir(job.id)),
        checkpoint_every=wanted["checkpoint"]["every"],
        checkpoint_keep=wanted["checkpoint"]["keep"],
        resume_from=_source(wanted["checkpoint"].get("from")),
        grace_seconds=job.grace_seconds,
    )


def checkpoint_dir(job_id: UUID) -> Path:
    """Where the job's own checkpoints are, on every node. No name a person gave is in any path."""
    return Path(settings.ENV.checkpoint_root) / str(job_id)


def placement_rows(placement: Placement) -> list[dict[str, Any]]:
    """The engine's placement as an attempt keeps it; ranks in the engine's order."""
    return [
        {"rank": rank, "node": worker.node, "devices": list(worker.devices)}
        for rank, worker in enumerate(placement)
    ]


def _slots(rows: Sequence[dict[str, Any]]) -> tuple[WorkerSlot, ...]:
    return tuple(WorkerSlot(rank=r["rank"], node=r["node"], devices=tuple(r["devices"])) for r in rows)


def _source(checkpoint_id: str | None) -> str | None:
    """The folder of the checkpoint to start from."""
    if checkpoint_id is None:
        return None
    whole = Checkpoint.objects.filter(id=checkpoint_id, state=CheckpointState.WHOLE).first()
    if whole is None:
        raise CheckpointGone(id=checkpoint_id)
    return whole.path
