"""The record of sensitive acts."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from accounts.models import AuditEntry, Team, User


def record_audit(
    *,
    actor: User | None,
    action: str,
    object_kind: str,
    object_id: object,
    team: Team | None = None,
    data: Mapping[str, Any] | None = None,
    address: str | None = None,
    now: datetime,
) -> AuditEntry:
    """Write down who did what, in the caller's transaction. `actor` None: the platform, or a stranger."""
    return AuditEntry.objects.create(
        at=now,
        actor=actor,
        action=action,
        object_kind=object_kind,
        object_id=str(object_id)[:200],
        team=team,
        data=dict(data or {}),
        address=address,
    )
