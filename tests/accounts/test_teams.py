"""Teams and who is in them."""

import pytest

from accounts.models import AuditEntry, Role
from accounts.selectors import members_of, team_by_slug
from accounts.services import create_team, remove_membership, set_membership
from refusals import Forbidden, Invalid, NotFound
from tests.accounts.builders import NOW, Cast


def test_a_team_has_a_slug_and_a_name_in_any_script(cast: Cast) -> None:
    """By a platform admin."""
    team = create_team(slug="nlp", display_name="自然语言", actor=cast.platform_admin, now=NOW)
    assert team_by_slug(cast.platform_admin, "nlp") == team
    assert AuditEntry.objects.get(action="team_created").team == team


@pytest.mark.parametrize(
    ("slug", "name", "paths"),
    [
        ("no spaces", "x", {"slug"}),
        ("中文", "x", {"slug"}),
        ("", " ", {"slug", "display_name"}),
        ("a/b", "a\nb", {"slug", "display_name"}),
        ("team-a", "again", {"slug"}),
    ],
)
def test_a_bad_team_is_refused_with_all_problems(cast: Cast, slug: str, name: str, paths: set[str]) -> None:
    """Its slug stands in addresses."""
    with pytest.raises(Invalid) as refused:
        create_team(slug=slug, display_name=name, now=NOW)
    assert {item.path for item in refused.value.details} == paths


def test_only_platform_admins_make_teams(cast: Cast) -> None:
    """A team admin does not."""
    with pytest.raises(Forbidden):
        create_team(slug="mine", display_name="Mine", actor=cast.team_admin, now=NOW)


def test_a_team_admin_takes_somebody_in_and_changes_the_role(cast: Cast) -> None:
    """Each change is recorded once; setting the same role again is none."""
    for role in (Role.VIEWER, Role.MEMBER, Role.MEMBER):
        set_membership(team=cast.team_a, user=cast.outsider, role=role, actor=cast.team_admin, now=NOW)
    assert members_of(cast.team_a).get(user=cast.outsider).role == Role.MEMBER
    changes = [entry.data for entry in AuditEntry.objects.order_by("id")]
    assert changes == [{"before": None, "after": "viewer"}, {"before": "viewer", "after": "member"}]


def test_a_team_admin_takes_somebody_out(cast: Cast) -> None:
    """A second time there is nobody to take out."""
    remove_membership(team=cast.team_a, user=cast.viewer, actor=cast.team_admin, now=NOW)
    assert not members_of(cast.team_a).filter(user=cast.viewer).exists()
    with pytest.raises(NotFound) as refused:
        remove_membership(team=cast.team_a, user=cast.viewer, actor=cast.team_admin, now=NOW)
    assert "no member “viewer”" in refused.value.message


def test_members_may_not_manage_members(cast: Cast) -> None:
    """Nor themselves."""
    with pytest.raises(Forbidden):
        set_membership(team=cast.team_a, user=cast.owner, role=Role.TEAM_ADMIN, actor=cast.owner, now=NOW)


def test_another_teams_admin_sees_no_team(cast: Cast) -> None:
    """Not found, as if there were none."""
    with pytest.raises(NotFound):
        remove_membership(team=cast.team_b, user=cast.outsider, actor=cast.team_admin, now=NOW)
    with pytest.raises(NotFound):
        team_by_slug(cast.team_admin, "team-b")
