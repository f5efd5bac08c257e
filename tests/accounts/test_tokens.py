"""API tokens."""

from datetime import timedelta
from uuid import uuid4

import pytest

from accounts.models import ApiToken, AuditEntry
from accounts.selectors import tokens_of
from accounts.services import authenticate_token, create_token, revoke_token
from refusals import Invalid, NotFound
from tests.accounts.builders import NOW, Cast


def test_a_token_opens_its_users_door(cast: Cast) -> None:
    """And the database does not know the secret."""
    token, secret = create_token(user=cast.owner, name="笔记本", expires_at=None, now=NOW)
    assert secret.startswith("glt_")
    assert authenticate_token(secret, now=NOW) == cast.owner
    stored = ApiToken.objects.values().get(id=token.id)
    assert secret not in str(stored)
    assert stored["prefix"] == secret[:12]


@pytest.mark.parametrize("wrong", ["", "glt_", "glt_wrong", "Bearer", "glt_\ud800", "x" * 5000])
def test_what_is_no_token_opens_nothing(cast: Cast, wrong: str) -> None:
    """Nor does it break anything."""
    create_token(user=cast.owner, name="t", expires_at=None, now=NOW)
    assert authenticate_token(wrong, now=NOW) is None


def test_a_token_ends_at_its_time(cast: Cast) -> None:
    """To the second."""
    end = NOW + timedelta(days=1)
    _token, secret = create_token(user=cast.owner, name="t", expires_at=end, now=NOW)
    assert authenticate_token(secret, now=end - timedelta(seconds=1)) == cast.owner
    assert authenticate_token(secret, now=end) is None


def test_a_revoked_token_opens_nothing_and_is_not_listed(cast: Cast) -> None:
    """Revoking again finds nothing."""
    token, secret = create_token(user=cast.owner, name="t", expires_at=None, now=NOW)
    revoke_token(user=cast.owner, token_id=token.id, now=NOW)
    assert authenticate_token(secret, now=NOW) is None
    assert not tokens_of(cast.owner).exists()
    with pytest.raises(NotFound):
        revoke_token(user=cast.owner, token_id=token.id, now=NOW)
    actions = list(AuditEntry.objects.order_by("id").values_list("action", flat=True))
    assert actions == ["token_created", "token_revoked"]


def test_nobody_revokes_somebody_elses_token(cast: Cast) -> None:
    """It is not found, as one that does not exist."""
    token, secret = create_token(user=cast.owner, name="t", expires_at=None, now=NOW)
    for token_id in (token.id, uuid4()):
        with pytest.raises(NotFound):
            revoke_token(user=cast.team_admin, token_id=token_id, now=NOW)
    assert authenticate_token(secret, now=NOW) == cast.owner


def test_a_switched_off_users_token_opens_nothing(cast: Cast) -> None:
    """At once."""
    _token, secret = create_token(user=cast.owner, name="t", expires_at=None, now=NOW)
    cast.owner.is_active = False
    cast.owner.save()
    assert authenticate_token(secret, now=NOW) is None


def test_use_is_noted_at_most_once_a_minute(cast: Cast) -> None:
    """A busy client must not write a row per request."""
    token, secret = create_token(user=cast.owner, name="t", expires_at=None, now=NOW)
    for seconds in (0, 30, 59, 61):
        authenticate_token(secret, now=NOW + timedelta(seconds=seconds))
        token.refresh_from_db()
        assert token.last_used_at == NOW + timedelta(seconds=61 if seconds == 61 else 0)


def test_a_bad_token_is_refused_with_all_problems(cast: Cast) -> None:
    """Blank name, time in the past."""
    with pytest.raises(Invalid) as refused:
        create_token(user=cast.owner, name=" ", expires_at=NOW, now=NOW)
    told = {item.path: str(item.problem) for item in refused.value.details}
    assert told == {"name": "must not be empty or blank", "expires_at": "must be in the future"}
