"""Numbers over time: what jobs measure about themselves."""

from django.db import models


class MetricPoint(models.Model):
    """Values reported at one step of one attempt (rank 0's unless the values say otherwise)."""

    job_id = models.UUIDField()
    attempt_id = models.UUIDField()
    rank = models.PositiveIntegerField()
    step = models.BigIntegerField()
    at = models.DateTimeField()
    values = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["attempt_id", "rank", "step"], name="metric_point_once_per_step")
        ]
        indexes = [models.Index(fields=["job_id", "step"], name="metric_point_by_job")]
