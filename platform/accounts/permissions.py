"""Who may do what: one table of plain data, asked by browser, API and services alike."""

from collections.abc import Mapping
from enum import StrEnum

from django.contrib.auth.models import AnonymousUser
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import Membership, Role, Team, User
from refusals import Forbidden, NotFound


class Action(StrEnum):
    """What the rules tell apart. All but the last are asked about one team."""

    VIEW_TEAM = "view_team"
    SUBMIT_JOB = "submit_job"
    MANAGE_OWN_JOB = "manage_own_job"
    MANAGE_ANY_JOB = "manage_any_job"
    MANAGE_TEAM = "manage_team"
    MANAGE_TEAM_QUOTA = "manage_team_quota"
    MANAGE_PLATFORM = "manage_platform"


# Platform admins may do everything and are not in the table.
RULES: Mapping[Role, frozenset[Action]] = {
    Role.VIEWER: frozenset({Action.VIEW_TEAM}),
    Role.MEMBER: frozenset({Action.VIEW_TEAM, Action.SUBMIT_JOB, Action.MANAGE_OWN_JOB}),
    Role.TEAM_ADMIN: frozenset(Action) - {Action.MANAGE_PLATFORM},
}

ACTION_LABELS: Mapping[Action, str | Promise] = {
    Action.VIEW_TEAM: _("see the team's jobs"),
    Action.SUBMIT_JOB: _("submit jobs for the team"),
    Action.MANAGE_OWN_JOB: _("change your own jobs"),
    Action.MANAGE_ANY_JOB: _("change other people's jobs"),
    Action.MANAGE_TEAM: _("manage the team"),
    Action.MANAGE_TEAM_QUOTA: _("divide the team's quota"),
    Action.MANAGE_PLATFORM: _("manage the platform"),
}


def allowed(user: User | AnonymousUser, action: Action, *, team: Team | None) -> bool:
    """Whether the user may do this in the team (None: the platform as a whole)."""
    if not isinstance(user, User) or not user.is_active:
        return False
    if user.is_platform_admin:
        return True
    role = role_in(user, team)
    return role is not None and action in RULES[role]


def require(
    user: User | AnonymousUser,
    action: Action,
    *,
    team: Team | None,
    kind: str | Promise,
    id: object,  # noqa: A002  # the name that the refusal's sentence uses
) -> None:
    """Refuse unless `allowed`: as not found to whoever may not see the team, else as forbidden."""
    if allowed(user, action, team=team):
        return
    if team is not None and not allowed(user, Action.VIEW_TEAM, team=team):
        raise NotFound(kind=kind, id=str(id))
    raise Forbidden(action=ACTION_LABELS[action])


def require_platform_admin(user: User | AnonymousUser) -> None:
    """Refuse everyone but platform admins."""
    require(user, Action.MANAGE_PLATFORM, team=None, kind="", id="")


def role_in(user: User, team: Team | None) -> Role | None:
    """The user's own role in the team; a platform admin's is None where there is no membership."""
    role = Membership.objects.filter(user=user, team=team).values_list("role", flat=True).first()
    return Role(role) if team is not None and role else None
