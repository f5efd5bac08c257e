"""Usage as JSON."""

from typing import Any

from rest_framework import serializers

from quotas.usage import DIMENSIONS


class UsageSerializer(serializers.Serializer[Any]):
    """One `usage.UsageRow`; the groups that were not asked for are null."""

    day = serializers.DateField(allow_null=True)
    team = serializers.CharField(allow_null=True)
    queue = serializers.CharField(allow_null=True)
    user = serializers.CharField(allow_null=True)
    accelerator_hours = serializers.FloatField()
    num_attempts = serializers.IntegerField()


class UsageQuestionSerializer(serializers.Serializer[Any]):
    """What may be asked of `usage`; without dates the last 30 days."""

    by = serializers.CharField(required=False, help_text=", ".join(DIMENSIONS))
    since = serializers.DateField(required=False)
    until = serializers.DateField(required=False)
    tz = serializers.CharField(required=False, help_text="Asia/Shanghai")
    format = serializers.ChoiceField(choices=["json", "csv"], default="json")
