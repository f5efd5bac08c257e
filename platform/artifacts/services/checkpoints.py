"""The index of checkpoints: which there are and can be started from. Their bytes stay with the job."""

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from artifacts.models import Checkpoint, CheckpointState
from refusals import Invalid, Problem
from refusals.text import is_printable

LONGEST_PATH = 1000
LONGEST_PROBLEM = 300


def record_checkpoint(
    *, job_id: UUID, attempt_id: UUID, step: int, path: str, size_bytes: int, now: datetime
) -> Checkpoint:
    """Note a whole checkpoint; a repeat changes nothing, one written over again is whole again."""
    if not 0 < len(path) <= LONGEST_PATH or not is_printable(path):
        raise Invalid(details=[Problem("path", _("must be printable, at most 1000 characters"))])
    checkpoint, _created = Checkpoint.objects.update_or_create(
        job_id=job_id,
        step=step,
        path=path,
        defaults={
            "attempt_id": attempt_id,
            "size_bytes": max(0, size_bytes),
            "state": CheckpointState.WHOLE,
            "problem": "",
        },
        create_defaults={
            "attempt_id": attempt_id,
            "size_bytes": max(0, size_bytes),
            "state": CheckpointState.WHOLE,
            "saved_at": now,
        },
    )
    return checkpoint


def mark_checkpoint_damaged(*, job_id: UUID, path: str, problem: str) -> int:
    """Note that the checkpoint at this path cannot be started from, and why; how many rows that concerned."""
    damaged = Checkpoint.objects.filter(job_id=job_id, path=path).exclude(state=CheckpointState.DELETED)
    return damaged.update(state=CheckpointState.DAMAGED, problem=problem[:LONGEST_PROBLEM])


def retire_checkpoints(*, job_id: UUID, keep: int) -> int:
    """Note that the job has removed all but its newest `keep` whole checkpoints; how many that concerned."""
    with transaction.atomic():
        whole = Checkpoint.objects.filter(job_id=job_id, state=CheckpointState.WHOLE).order_by("-step", "-id")
        retired = list(whole.values_list("id", flat=True)[max(1, keep) :])
        return Checkpoint.objects.filter(id__in=retired).update(state=CheckpointState.DELETED)
