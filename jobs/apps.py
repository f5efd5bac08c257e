"""The app's name for Django."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """Jobs: their spec, life, attempts and everything shown about them."""

    name = "jobs"
    default_auto_field = "django.db.models.BigAutoField"
