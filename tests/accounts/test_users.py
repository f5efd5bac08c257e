"""Making and changing users."""

import pytest

from accounts.models import AuditEntry, User
from accounts.services import (
    change_password,
    change_profile,
    create_user,
    set_active,
    set_password,
    set_platform_admin,
)
from refusals import Conflict, Forbidden, Invalid
from tests.accounts.builders import NOW, PASSWORD, Cast


def problems_of(refused: pytest.ExceptionInfo[Invalid]) -> dict[str, str]:
    """Path to sentence."""
    return {item.path: str(item.problem) for item in refused.value.details}


def test_a_new_user_can_log_in_and_the_act_is_recorded(cast: Cast) -> None:
    """By a platform admin."""
    user = create_user(
        username="newcomer",
        password=PASSWORD,
        display_name="新人",
        actor=cast.platform_admin,
        address="10.0.0.7",
        now=NOW,
    )
    assert user.check_password(PASSWORD)
    entry = AuditEntry.objects.get(action="user_created")
    assert (entry.actor, entry.object_id, entry.address, entry.at) == (
        cast.platform_admin,
        "newcomer",
        "10.0.0.7",
        NOW,
    )


def test_every_problem_of_a_new_user_is_told_at_once(db: None) -> None:
    """Name, e-mail, display name and password."""
    with pytest.raises(Invalid) as refused:
        create_user(username="a b", password="short", email="nowhere", display_name="a\nb", now=NOW)
    assert set(problems_of(refused)) == {"username", "email", "display_name", "password"}
    assert problems_of(refused)["password"].startswith("This password is too short.")
    assert not User.objects.filter(username="a b").exists()


def test_a_name_that_is_taken_is_refused(cast: Cast) -> None:
    """Names are unique."""
    with pytest.raises(Invalid) as refused:
        create_user(username="owner", password=PASSWORD, now=NOW)
    assert problems_of(refused) == {"username": "A user with that username already exists."}


def test_only_platform_admins_make_users(cast: Cast) -> None:
    """A team admin does not."""
    with pytest.raises(Forbidden):
        create_user(username="friend", password=PASSWORD, actor=cast.team_admin, now=NOW)


def test_another_password_is_set_and_recorded_without_it(cast: Cast) -> None:
    """The audit says that, not what."""
    set_password(user=cast.owner, password=PASSWORD, actor=cast.platform_admin, now=NOW)
    assert cast.owner.check_password(PASSWORD)
    entry = AuditEntry.objects.get(action="password_set")
    assert PASSWORD not in str(entry.data)


def test_one_may_not_set_somebody_elses_password(cast: Cast) -> None:
    """Not even as an admin of the team."""
    with pytest.raises(Forbidden):
        set_password(user=cast.owner, password=PASSWORD, actor=cast.team_admin, now=NOW)


def test_changing_ones_password_takes_the_present_one(cast: Cast) -> None:
    """An open screen is not enough."""
    cast.owner.set_password(PASSWORD)
    with pytest.raises(Invalid) as refused:
        change_password(user=cast.owner, current="wrong", new="another good phrase", now=NOW)
    assert problems_of(refused) == {"current": "is not your present password"}
    change_password(user=cast.owner, current=PASSWORD, new="another good phrase", now=NOW)
    assert cast.owner.check_password("another good phrase")


def test_the_only_platform_admin_cannot_be_switched_off(cast: Cast) -> None:
    """Nobody could switch them on again."""
    with pytest.raises(Conflict) as refused:
        set_active(user=cast.platform_admin, is_active=False, actor=cast.platform_admin, now=NOW)
    assert refused.value.message == (
        "This cannot be done now: this is the only active platform admin; make another one first."
    )
    with pytest.raises(Conflict):
        set_platform_admin(
            user=cast.platform_admin, is_platform_admin=False, actor=cast.platform_admin, now=NOW
        )


def test_with_a_second_admin_the_first_can_go(cast: Cast) -> None:
    """And both acts are recorded."""
    set_platform_admin(user=cast.owner, is_platform_admin=True, actor=cast.platform_admin, now=NOW)
    set_active(user=cast.platform_admin, is_active=False, actor=cast.owner, now=NOW)
    cast.platform_admin.refresh_from_db()
    assert not cast.platform_admin.is_active
    actions = list(AuditEntry.objects.order_by("id").values_list("action", flat=True))
    assert actions == ["platform_admin_given", "user_switched_off"]


def test_a_profile_takes_known_languages_and_zones_only(cast: Cast) -> None:
    """All problems at once."""
    with pytest.raises(Invalid) as refused:
        change_profile(user=cast.owner, language="tlh", time_zone="Mars/Olympus", display_name="\x07")
    assert problems_of(refused) == {
        "language": "must be one of: en, zh-hans",
        "time_zone": "must be a time zone's name, for example Asia/Shanghai",
        "display_name": "must have printable characters only (no control characters, no line breaks)",
    }
    change_profile(user=cast.owner, language="zh-hans", time_zone="Asia/Shanghai")
    cast.owner.refresh_from_db()
    assert (cast.owner.language, cast.owner.time_zone) == ("zh-hans", "Asia/Shanghai")
