"""The app's name for Django."""

from django.apps import AppConfig


class EventlogConfig(AppConfig):
    """Append-only event log, command outbox, relay."""

    name = "eventlog"
    default_auto_field = "django.db.models.BigAutoField"
