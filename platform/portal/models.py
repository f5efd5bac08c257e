"""The portal's own rows: answers kept for repeated submissions."""

from django.db import models


class IdempotentAnswer(models.Model):
    """The answer to one POST with an Idempotency-Key, replayed when the same request comes again."""

    user = models.ForeignKey("accounts.User", models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    path = models.CharField(max_length=500)
    body_sha256 = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    body = models.JSONField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_once_per_user")]
