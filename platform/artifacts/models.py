"""Files that jobs bring and leave: code archives, log streams, outputs, and where their checkpoints are."""

import uuid

from django.db import models


class CodeArchive(models.Model):
    """An uploaded code archive, kept once per team by content as a canonical tar.gz."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey("accounts.Team", models.PROTECT, related_name="+")
    sha256 = models.CharField(max_length=64)  # of the stored archive
    size_bytes = models.BigIntegerField()
    num_files = models.PositiveIntegerField()
    created_by = models.ForeignKey("accounts.User", models.PROTECT, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "sha256"], name="code_archive_once_per_team")]


class Stream(models.Model):
    """One byte stream of one worker of one attempt; `size_bytes` is how much has arrived without a gap."""

    attempt_id = models.UUIDField()
    job_id = models.UUIDField(db_index=True)
    name = models.CharField(max_length=40)  # rank-0.log, rank-0.events
    size_bytes = models.BigIntegerField(default=0)
    num_lines = models.BigIntegerField(default=0)
    closed_at = models.DateTimeField(null=True)
    shipped_at = models.DateTimeField(null=True)  # moved to a remote store: no local file any more

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt_id", "name"], name="stream_once_per_attempt")]
        indexes = [
            models.Index(
                fields=["id"],
                condition=models.Q(closed_at__isnull=False, shipped_at__isnull=True),
                name="stream_to_ship",
            )
        ]


class Output(models.Model):
    """A file that a worker left in its output folder."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    job_id = models.UUIDField(db_index=True)
    attempt_id = models.UUIDField()
    path = models.CharField(max_length=500)
    size_bytes = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt_id", "path"], name="output_once_per_attempt")]


class CheckpointState(models.TextChoices):
    """Whether a checkpoint can be started from."""

    WHOLE = "whole"
    DAMAGED = "damaged"
    DELETED = "deleted"


class Checkpoint(models.Model):
    """A whole checkpoint that a job reported; the bytes stay where the job wrote them."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    job_id = models.UUIDField(db_index=True)
    attempt_id = models.UUIDField()
    step = models.BigIntegerField()
    path = models.CharField(max_length=1000)
    size_bytes = models.BigIntegerField()
    state = models.CharField(max_length=16, choices=CheckpointState)
    problem = models.CharField(max_length=300, blank=True)
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job_id", "step", "path"], name="checkpoint_once_per_step")
        ]
