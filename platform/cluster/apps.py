"""The app's name for Django."""

from django.apps import AppConfig


class ClusterConfig(AppConfig):
    """Nodes, accelerators, topology and health, as the conductor reports them."""

    name = "cluster"
    default_auto_field = "django.db.models.BigAutoField"
