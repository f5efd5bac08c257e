"""The portal's own rows: answers kept for repeated submissions."""

from django.db import models


class IdempotentAnswer(models.Model):
    """The answer to one POST with an idempotency key, given again when the same request comes again.

    The row is written in the work's own transaction, so neither exists without the other.
    """

    user = models.ForeignKey("accounts.User", models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    request_sha256 = models.CharField(max_length=64)  # of path and body
    status = models.PositiveSmallIntegerField()
    content_type = models.CharField(max_length=100, blank=True)
    location = models.CharField(max_length=500, blank=True)
    body = models.TextField(blank=True)
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_once_per_user")]
