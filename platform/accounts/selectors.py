"""What there is to know about users and teams, for one reader."""

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.models import ApiToken, AuditEntry, Membership, Role, Team, User
from accounts.permissions import Action, require, require_platform_admin, role_in
from refusals import NotFound


def teams_of(user: User | AnonymousUser) -> QuerySet[Team]:
    """The teams that the user may see, by slug: their own; all of them for a platform admin."""
    if not isinstance(user, User) or not user.is_active:
        return Team.objects.none()
    if user.is_platform_admin:
        return Team.objects.order_by("slug")
    return Team.objects.filter(memberships__user=user).order_by("slug")


def role_of(user: User | AnonymousUser, team: Team) -> Role | None:
    """The user's role in the team; a platform admin counts as team admin everywhere."""
    if not isinstance(user, User) or not user.is_active:
        return None
    return Role.TEAM_ADMIN if user.is_platform_admin else role_in(user, team)


def team_by_slug(user: User | AnonymousUser, slug: str) -> Team:
    """One team that the user may see; `NotFound` for any other and for none alike."""
    team = teams_of(user).filter(slug=slug).first()
    if team is None:
        raise NotFound(kind=_("team"), id=slug)
    return team


def members_of(team: Team) -> QuerySet[Membership]:
    """The team's memberships with their users, by name."""
    return team.memberships.select_related("user").order_by("user__username")


def memberships_of(user: User) -> QuerySet[Membership]:
    """The user's memberships with their teams, by slug."""
    return user.memberships.select_related("team").order_by("team__slug")


def user_by_name(username: str) -> User:
    """One user, or `NotFound`. For those who may know of everyone."""
    user = User.objects.filter(username=username).first()
    if user is None:
        raise NotFound(kind=_("user"), id=username)
    return user


def all_users(reader: User | AnonymousUser) -> QuerySet[User]:
    """Every user, by name; for platform admins."""
    require_platform_admin(reader)
    return User.objects.order_by("username")


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """The user's tokens that are not revoked, newest first."""
    return user.api_tokens.filter(revoked_at__isnull=True).order_by("-created_at", "id")


def audit_entries(reader: User | AnonymousUser, *, team: Team | None) -> QuerySet[AuditEntry]:
    """What was recorded, newest first: one team's for its admins, everything for platform admins."""
    require(reader, Action.MANAGE_TEAM, team=team, kind=_("team"), id=team.slug if team else "")
    entries = AuditEntry.objects.select_related("actor", "team").order_by("-id")
    return entries if team is None else entries.filter(team=team)
