"""The machines, as last reported, and the conductor that reports them."""

import uuid

from django.db import models
from django.db.models import F, Q


class NodeState(models.TextChoices):
    """Whether a node can be used; cordoning is a person's decision and kept apart from it."""

    READY = "ready"
    UNREACHABLE = "unreachable"  # silent or reported dead; comes back by itself
    REMOVED = "removed"  # left the cluster for good (an admin removed it)


class Node(models.Model):
    """One machine of the cluster, known by a stable name. Its amounts count only while it is ready."""

    name = models.CharField(max_length=120, unique=True)
    state = models.CharField(max_length=16, choices=NodeState)
    state_changed_at = models.DateTimeField()
    problem = models.CharField(max_length=300, blank=True)
    cordoned = models.BooleanField(default=False)
    cordon_reason = models.CharField(max_length=300, blank=True)
    ray_node_id = models.CharField(max_length=80)
    address = models.CharField(max_length=80)
    labels = models.JSONField(default=dict)
    accelerator_type = models.CharField(max_length=60)
    num_accelerators = models.PositiveIntegerField()
    cpus_milli = models.PositiveIntegerField()
    memory_bytes = models.BigIntegerField()
    metrics = models.JSONField(default=dict)
    last_seen_at = models.DateTimeField()
    first_seen_at = models.DateTimeField()
    changed_xid = models.BigIntegerField(default=0, editable=False)  # by a trigger, when the plan may change


class MaintenanceWindow(models.Model):
    """From start to end nobody may hold these nodes: jobs that would run into it are not started there, and
    those that are still there are told to leave, their grace before it begins. Cancelled ones are kept for
    the record.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    reason = models.CharField(max_length=300)
    nodes = models.JSONField()  # names
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    created_by = models.ForeignKey("accounts.User", models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    cancelled_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["ends_at"], name="window_by_end")]
        constraints = [
            models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="window_ends_after_start")
        ]


class Conductor(models.Model):
    """The one row (id 1) about the conductor: its fencing epoch, who it is, and when it was last heard."""

    epoch = models.BigIntegerField(default=0)
    incarnation = models.CharField(max_length=40, blank=True)
    last_seen_at = models.DateTimeField(null=True)
    attempts = models.JSONField(default=dict)  # attempt id -> gang state, as of the last inventory
    rebuilt = models.BooleanField(default=False)


class ReportCursor(models.Model):
    """How far the reports of one conductor incarnation have been taken in; makes delivery exactly once."""

    incarnation = models.CharField(max_length=40, primary_key=True)
    seq = models.BigIntegerField(default=0)
    updated_at = models.DateTimeField()
