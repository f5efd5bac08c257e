"""Teams and who is in them."""

from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from accounts.models import Membership, Role, Team, User
from accounts.permissions import Action, require, require_platform_admin
from accounts.services.audit import record_audit
from refusals import Invalid, NotFound, Problem
from refusals.model_errors import problems_of
from refusals.text import name_problem


def create_team(
    *, slug: str, display_name: str, actor: User | None = None, address: str | None = None, now: datetime
) -> Team:
    """Make a team without members. Its slug stands in addresses and files and is never changed."""
    if actor is not None:
        require_platform_admin(actor)
    team = Team(slug=slug, display_name=display_name, created_at=now)
    _check_team(team)
    try:
        with transaction.atomic():
            team.save(force_insert=True)
            _record(team, "team_created", slug, actor=actor, data={}, address=address, now=now)
    except IntegrityError:  # the same slug came in at the same moment, after the check above
        raise Invalid(details=[Problem("slug", _("is already in use"))]) from None
    return team


def set_membership(
    *,
    team: Team,
    user: User,
    role: Role,
    actor: User | None = None,
    address: str | None = None,
    now: datetime,
) -> Membership:
    """Put the user into the team with this role, or change the role that they have."""
    _require_admin(actor, team)
    with transaction.atomic():
        membership, created = Membership.objects.select_for_update(no_key=True).get_or_create(
            user=user, team=team, defaults={"role": role}
        )
        before = None if created else membership.role
        if before != role:
            membership.role = role
            membership.save(update_fields=["role"])
            data = {"before": before, "after": str(role)}
            _record(team, "membership_set", user.username, actor=actor, data=data, address=address, now=now)
    return membership


def remove_membership(
    *, team: Team, user: User, actor: User | None = None, address: str | None = None, now: datetime
) -> None:
    """Take the user out of the team; their jobs stay the team's."""
    _require_admin(actor, team)
    with transaction.atomic():
        removed, _rows = Membership.objects.filter(team=team, user=user).delete()
        if not removed:
            raise NotFound(kind=_("member"), id=user.username)
        _record(team, "membership_removed", user.username, actor=actor, data={}, address=address, now=now)


def _require_admin(actor: User | None, team: Team) -> None:
    if actor is not None:
        require(actor, Action.MANAGE_TEAM, team=team, kind=_("team"), id=team.slug)


def _check_team(team: Team) -> None:
    problems: list[Problem] = []
    try:
        team.full_clean(exclude=["display_name"])
    except ValidationError as error:
        problems += problems_of(error)
    if problem := name_problem("display_name", team.display_name, max_length=120):
        problems.append(problem)
    if problems:
        raise Invalid(details=problems)


def _record(
    team: Team,
    action: str,
    object_id: str,
    *,
    actor: User | None,
    data: dict[str, str | None],
    address: str | None,
    now: datetime,
) -> None:
    kind = "team" if action == "team_created" else "membership"
    record_audit(
        actor=actor,
        action=action,
        object_kind=kind,
        object_id=object_id,
        team=team,
        data=data,
        address=address,
        now=now,
    )
