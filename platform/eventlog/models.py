"""What happened (events, append-only) and what the cluster is to do (commands, the outbox)."""

from django.db import models
from django.db.models import Q


class Event(models.Model):
    """A fact about a job, in the past tense. Text is rendered when it is read, in the reader's language."""

    job_id = models.UUIDField()
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=40)
    cause = models.CharField(max_length=40, blank=True)
    actor_id = models.BigIntegerField(null=True)  # a user, or nobody: the platform itself
    attempt_id = models.UUIDField(null=True)
    data = models.JSONField(default=dict)
    version = models.PositiveSmallIntegerField(default=1)
    at = models.DateTimeField()
    published_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job_id", "seq"], name="event_seq_once_per_job")]
        indexes = [
            models.Index(fields=["id"], condition=Q(published_at__isnull=True), name="event_unpublished")
        ]


class Command(models.Model):
    """An order to the conductor, written with the change that caused it; done once it is acknowledged."""

    attempt_id = models.UUIDField()
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=20)
    payload = models.JSONField()
    created_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["attempt_id", "seq"], name="command_seq_once_per_attempt")
        ]
        indexes = [models.Index(fields=["id"], condition=Q(done_at__isnull=True), name="command_open")]
