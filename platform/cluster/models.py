"""The machines, as last reported, and the conductor that reports them."""

from django.db import models


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
