"""The app's name for Django."""

from django.apps import AppConfig


class ArtifactsConfig(AppConfig):
    """Code archives, logs, outputs and the checkpoint index; local folder or S3."""

    name = "artifacts"
    default_auto_field = "django.db.models.BigAutoField"
