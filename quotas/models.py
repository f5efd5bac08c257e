"""The queue tree with its guarantees and limits, and the ledger of what is held in it."""

import uuid

from django.db import models
from django.db.models import Q


class Queue(models.Model):
    """A node of the queue tree. `used_milli` is what is held in its subtree: the database checks it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    path = models.CharField(max_length=200, unique=True)  # "research/nlp"
    parent = models.ForeignKey("self", models.PROTECT, null=True, related_name="children")
    team = models.ForeignKey("accounts.Team", models.PROTECT, null=True, related_name="queues")
    guarantee_milli = models.BigIntegerField(default=0)
    limit_milli = models.BigIntegerField(null=True)
    type_guarantees = models.JSONField(default=dict)  # accelerator type -> milli, beside the total
    type_limits = models.JSONField(default=dict)
    user_limit_milli = models.BigIntegerField(null=True)  # what each single user may hold in the subtree
    weight = models.PositiveIntegerField(default=1)
    max_priority = models.PositiveIntegerField(default=1000)
    used_milli = models.BigIntegerField(default=0)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(used_milli__gte=0), name="queue_used_not_negative"),
            models.CheckConstraint(condition=Q(guarantee_milli__gte=0), name="queue_guarantee_not_negative"),
            models.CheckConstraint(
                condition=Q(limit_milli__isnull=True) | Q(limit_milli__gte=0), name="queue_limit_not_negative"
            ),
            models.CheckConstraint(condition=Q(weight__gte=1), name="queue_weight_positive"),
            models.CheckConstraint(
                condition=Q(user_limit_milli__isnull=True) | Q(user_limit_milli__gte=0),
                name="queue_user_limit_not_negative",
            ),
        ]


class Holding(models.Model):
    """What one holder (an attempt) is charged in one queue, from `held_at` until `released_at`.

    Never deleted: the closed rows are the record of usage.
    """

    holder_id = models.UUIDField()
    queue = models.ForeignKey(Queue, models.PROTECT, related_name="holdings")
    amount_milli = models.BigIntegerField()
    accelerator_type = models.CharField(max_length=60, blank=True)
    user = models.ForeignKey("accounts.User", models.PROTECT, related_name="+")
    held_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["holder_id"], name="holding_once_per_holder"),
            models.CheckConstraint(condition=Q(amount_milli__gte=0), name="holding_not_negative"),
        ]
        indexes = [
            models.Index(
                fields=["queue"],
                include=["amount_milli"],
                condition=Q(released_at__isnull=True),
                name="holding_live",
            ),
            models.Index(fields=["held_at"], name="holding_by_time"),
        ]
