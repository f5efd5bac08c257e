"""A platform that nobody has divided yet has one team with one queue: the first job needs nothing else."""

from datetime import datetime

from django.db import transaction

from accounts.models import Role, Team, User
from accounts.services import create_team, set_membership
from quotas.services import create_queue

NAME = "default"


@transaction.atomic
def ensure_first_queue(*, admin: User, now: datetime) -> bool:
    """Make team and queue `default`, without guarantee or limit, unless there is any team; True if made."""
    if Team.objects.exists():
        return False
    team = create_team(slug=NAME, display_name="Default", actor=admin, now=now)
    set_membership(team=team, user=admin, role=Role.TEAM_ADMIN, actor=admin, now=now)
    create_queue(user=admin, path=NAME, team=team, guarantee_milli=0, limit_milli=None, now=now)
    return True
