"""The app's name for Django."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Users, teams, memberships and roles, API tokens, audit."""

    name = "accounts"
    default_auto_field = "django.db.models.BigAutoField"
