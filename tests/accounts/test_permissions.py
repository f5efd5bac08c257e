"""The rule table, role by role."""

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from accounts.models import Role
from accounts.permissions import Action, allowed, require, require_platform_admin
from accounts.selectors import role_of, teams_of
from refusals import Forbidden, NotFound
from tests.accounts.builders import Cast

WHO_MAY = {
    Action.VIEW_TEAM: {"platform_admin", "team_admin", "owner", "viewer"},
    Action.SUBMIT_JOB: {"platform_admin", "team_admin", "owner"},
    Action.MANAGE_OWN_JOB: {"platform_admin", "team_admin", "owner"},
    Action.MANAGE_ANY_JOB: {"platform_admin", "team_admin"},
    Action.MANAGE_TEAM: {"platform_admin", "team_admin"},
    Action.MANAGE_TEAM_QUOTA: {"platform_admin", "team_admin"},
    Action.MANAGE_PLATFORM: {"platform_admin"},
}
ROLES = ("platform_admin", "team_admin", "owner", "viewer", "outsider")


def test_the_table_of_this_test_names_every_action() -> None:
    """A new action needs a line here."""
    assert set(WHO_MAY) == set(Action)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("action", list(Action))
def test_exactly_these_roles_may(cast: Cast, role: str, action: Action) -> None:
    """Every pair of role and action, in team A."""
    assert allowed(getattr(cast, role), action, team=cast.team_a) is (role in WHO_MAY[action])


def test_without_a_team_only_platform_admins_may(cast: Cast) -> None:
    """What concerns the platform as a whole."""
    assert allowed(cast.platform_admin, Action.MANAGE_PLATFORM, team=None)
    assert not any(allowed(cast.team_admin, action, team=None) for action in Action)


@pytest.mark.parametrize("role", ROLES)
def test_a_switched_off_account_may_nothing(cast: Cast, role: str) -> None:
    """Whatever it was."""
    user = getattr(cast, role)
    user.is_active = False
    assert not any(allowed(user, action, team=cast.team_a) for action in Action)
    assert not teams_of(user).exists()
    assert role_of(user, cast.team_a) is None


def test_a_stranger_may_nothing(cast: Cast) -> None:
    """Nobody is logged in."""
    assert not any(allowed(AnonymousUser(), action, team=cast.team_a) for action in Action)
    assert not teams_of(AnonymousUser()).exists()


def test_an_outsider_is_told_that_it_does_not_exist(cast: Cast) -> None:
    """Another team's object and none at all read the same."""
    with pytest.raises(NotFound) as refused:
        require(cast.outsider, Action.MANAGE_ANY_JOB, team=cast.team_a, kind="job", id="J1")
    assert refused.value.message == "There is no job “J1”, or you may not see it. Check the id and your team."


def test_a_viewer_is_told_what_the_role_does_not_allow(cast: Cast) -> None:
    """Who sees the object learns the reason."""
    with pytest.raises(Forbidden) as refused:
        require(cast.viewer, Action.SUBMIT_JOB, team=cast.team_a, kind="job", id="J1")
    expected = "Your role does not allow this (submit jobs for the team). Ask an admin of the team."
    assert refused.value.message == expected


def test_only_platform_admins_pass_the_platforms_door(cast: Cast) -> None:
    """The shorthand for the platform as a whole."""
    require_platform_admin(cast.platform_admin)
    with pytest.raises(Forbidden):
        require_platform_admin(cast.team_admin)


def test_teams_of_shows_the_own_ones_and_all_to_platform_admins(cast: Cast) -> None:
    """By slug."""
    assert [team.slug for team in teams_of(cast.owner)] == ["team-a"]
    assert [team.slug for team in teams_of(cast.platform_admin)] == ["team-a", "team-b"]


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("platform_admin", Role.TEAM_ADMIN),
        ("team_admin", Role.TEAM_ADMIN),
        ("owner", Role.MEMBER),
        ("viewer", Role.VIEWER),
        ("outsider", None),
    ],
)
def test_role_of_counts_a_platform_admin_as_team_admin(cast: Cast, role: str, expected: Any) -> None:
    """In every team."""
    assert role_of(getattr(cast, role), cast.team_a) == expected
