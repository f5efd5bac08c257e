"""Queues and usage as JSON. Amounts of accelerators are numbers of devices, not milli-units."""

from decimal import Decimal
from typing import Any

from rest_framework import serializers

from quotas.arithmetic import devices, milli
from quotas.rules import DEEPEST, LONGEST_PATH, MOST_MILLI, MOST_PRIORITY, MOST_WEIGHT
from quotas.usage import DIMENSIONS


class Devices(serializers.Field[int, Any, int | float, int]):
    """A number of accelerators, to a thousandth; inside, milli-units."""

    default_error_messages = {
        "number": serializers.DecimalField.default_error_messages["invalid"],
        **{key: serializers.DecimalField.default_error_messages[key] for key in ("max_value", "min_value")},
        "max_decimal_places": serializers.DecimalField.default_error_messages["max_decimal_places"],
    }

    def to_representation(self, value: int) -> int | float:
        """4, 0.5."""
        return devices(value)

    def to_internal_value(self, data: Any) -> int:
        """Milli-units, or a problem in words."""
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("number")
        if not 0 <= data <= MOST_MILLI // 1000:  # also refuses NaN
            key = "min_value" if data < 0 else "max_value"
            self.fail(key, min_value=0, max_value=MOST_MILLI // 1000)
        try:
            return milli(Decimal(str(data)))
        except ValueError:
            self.fail("max_decimal_places", max_decimal_places=3)


class QueueSerializer(serializers.Serializer[Any]):
    """One `selectors.QueueRow`."""

    path = serializers.CharField()
    name = serializers.CharField()
    depth = serializers.IntegerField(min_value=0, max_value=DEEPEST)
    team = serializers.CharField(allow_null=True)
    guarantee = Devices(source="guarantee_milli")
    limit = Devices(source="limit_milli", allow_null=True)
    weight = serializers.IntegerField()
    max_priority = serializers.IntegerField()
    used = Devices(source="used_milli")
    borrowed = Devices(source="borrowed_milli")
    is_manageable = serializers.BooleanField()


class QuotaSerializer(serializers.Serializer[Any]):
    """What a change may say; with `partial` a key that is left out stays as it is."""

    guarantee = Devices(source="guarantee_milli", default=0)
    limit = Devices(source="limit_milli", allow_null=True, default=None)
    weight = serializers.IntegerField(min_value=1, max_value=MOST_WEIGHT, default=1)
    max_priority = serializers.IntegerField(min_value=0, max_value=MOST_PRIORITY, default=MOST_PRIORITY)


class NewQueueSerializer(QuotaSerializer):
    """A queue to be made; without a team it belongs to its parent's."""

    path = serializers.CharField(max_length=LONGEST_PATH, trim_whitespace=False)
    team = serializers.CharField(required=False, allow_null=True, default=None)


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
