"""The app's name for Django."""

from django.apps import AppConfig


class QuotasConfig(AppConfig):
    """Queue tree, guarantees and limits, reservation ledger, usage."""

    name = "quotas"
    default_auto_field = "django.db.models.BigAutoField"
