"""The audit is written once and read by those who may."""

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.models import AuditEntry
from accounts.selectors import audit_entries
from accounts.services import record_audit
from refusals import Forbidden, NotFound
from tests.accounts.builders import NOW, Cast


@pytest.fixture
def recorded(cast: Cast) -> Cast:
    """One act in each team, one of the platform."""
    for team in (cast.team_a, cast.team_b, None):
        record_audit(
            actor=cast.platform_admin, action="act", object_kind="x", object_id="1", team=team, now=NOW
        )
    return cast


@pytest.mark.parametrize(
    "statement", ["UPDATE accounts_auditentry SET action = 'other'", "DELETE FROM accounts_auditentry"]
)
def test_the_database_forbids_to_change_or_delete_an_entry(recorded: Cast, statement: str) -> None:
    """Whoever asks."""
    with (
        pytest.raises(IntegrityError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    assert AuditEntry.objects.filter(action="act").count() == 3


def test_a_team_admin_reads_the_own_teams_entries(recorded: Cast) -> None:
    """And no others."""
    assert [entry.team for entry in audit_entries(recorded.team_admin, team=recorded.team_a)] == [
        recorded.team_a
    ]
    with pytest.raises(NotFound):
        audit_entries(recorded.team_admin, team=recorded.team_b)
    with pytest.raises(Forbidden):
        audit_entries(recorded.team_admin, team=None)


def test_members_do_not_read_the_audit(recorded: Cast) -> None:
    """It names who did what."""
    with pytest.raises(Forbidden):
        audit_entries(recorded.owner, team=recorded.team_a)


def test_a_platform_admin_reads_everything_newest_first(recorded: Cast) -> None:
    """All three."""
    assert [entry.team for entry in audit_entries(recorded.platform_admin, team=None)] == [
        None,
        recorded.team_b,
        recorded.team_a,
    ]
