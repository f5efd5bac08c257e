"""The app's name for Django."""

from django.apps import AppConfig


class PortalConfig(AppConfig):
    """The Django project: composes every app, knows HTTP."""

    name = "portal"
    default_auto_field = "django.db.models.BigAutoField"
