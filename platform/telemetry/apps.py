"""The app's name for Django."""

from django.apps import AppConfig


class TelemetryConfig(AppConfig):
    """Metric series of jobs and nodes."""

    name = "telemetry"
    default_auto_field = "django.db.models.BigAutoField"
