"""The app's name for Django, and what the project sets up once."""

from django.apps import AppConfig


class PortalConfig(AppConfig):
    """The Django project: composes every app, knows HTTP."""

    name = "portal"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register checks and the API's description, and make our Celery the one that tasks are sent with."""
        from portal import celery, checks, openapi  # noqa: F401
