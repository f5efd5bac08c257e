"""Users and teams by role, for every test that needs somebody."""

from dataclasses import dataclass
from datetime import UTC, datetime

from rest_framework.test import APIClient

from accounts.models import Membership, Role, Team, User

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
PASSWORD = "an uncommon pass phrase"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Two teams, and one user for each way to stand to them."""

    team_a: Team
    team_b: Team
    platform_admin: User
    team_admin: User
    owner: User
    teammate: User
    viewer: User
    outsider: User


def make_cast() -> Cast:
    """The whole cast, fresh."""
    team_a, team_b = a_team("team-a"), a_team("team-b")
    return Cast(
        team_a=team_a,
        team_b=team_b,
        platform_admin=a_user("platform-admin", is_platform_admin=True),
        team_admin=a_user("team-admin", team=team_a, role=Role.TEAM_ADMIN),
        owner=a_user("owner", team=team_a, role=Role.MEMBER),
        teammate=a_user("teammate", team=team_a, role=Role.MEMBER),
        viewer=a_user("viewer", team=team_a, role=Role.VIEWER),
        outsider=a_user("outsider", team=team_b, role=Role.MEMBER),
    )


def a_team(slug: str) -> Team:
    """A team without members."""
    return Team.objects.create(slug=slug, display_name=slug, created_at=NOW)


def a_user(
    username: str, *, team: Team | None = None, role: Role = Role.MEMBER, is_platform_admin: bool = False
) -> User:
    """A user without a password (hashing one takes as long as a whole test)."""
    user = User(username=username, is_platform_admin=is_platform_admin, date_joined=NOW)
    user.set_unusable_password()
    user.save()
    if team is not None:
        Membership.objects.create(user=user, team=team, role=role)
    return user


def client_of(user: User | None) -> APIClient:
    """A REST client that is this user, or nobody."""
    client = APIClient()
    client.force_authenticate(user)
    return client
