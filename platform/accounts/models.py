"""Who there is: users, teams, memberships, API tokens, and the record of sensitive acts."""

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.translation import gettext_lazy as _


class Role(models.TextChoices):
    """A user's role in one team; platform admins are above all of them (`User.is_platform_admin`)."""

    VIEWER = "viewer", _("Viewer")
    MEMBER = "member", _("Member")
    TEAM_ADMIN = "team_admin", _("Team admin")


class User(AbstractUser):
    """A person or a robot that logs in."""

    display_name = models.CharField(max_length=120, blank=True)
    is_platform_admin = models.BooleanField(default=False)
    language = models.CharField(max_length=16, blank=True)  # empty: as the browser asks
    time_zone = models.CharField(max_length=64, blank=True)  # empty: the server's


class Team(models.Model):
    """People who share queues and see each other's jobs."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.SlugField(max_length=60, unique=True)
    display_name = models.CharField(max_length=120)
    created_at = models.DateTimeField()


class Membership(models.Model):
    """One user's role in one team."""

    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    team = models.ForeignKey(Team, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "team"], name="membership_once")]


class ApiToken(models.Model):
    """A secret for API and CLI, shown once; only its SHA-256 is kept."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=120)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)


class AuditEntry(models.Model):
    """A sensitive act: who did what to which object, when and from where. The database forbids changes."""

    at = models.DateTimeField(db_index=True)
    actor = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    action = models.CharField(max_length=60)
    object_kind = models.CharField(max_length=40)
    object_id = models.CharField(max_length=200)
    team = models.ForeignKey(Team, models.PROTECT, null=True, related_name="+")
    data = models.JSONField(default=dict)
    address = models.GenericIPAddressField(null=True)
