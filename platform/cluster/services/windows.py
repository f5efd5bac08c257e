"""Maintenance windows: planned and cancelled by platform admins."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.permissions import require_platform_admin
from accounts.services import record_audit
from cluster.models import MaintenanceWindow, Node, NodeState
from cluster.services.cordon import LONGEST_REASON
from eventlog.wakeups import wake_tick
from refusals import Invalid, NotFound, Problem
from refusals.text import is_printable


def plan_window(
    *,
    user: User,
    nodes: Sequence[str],
    starts_at: datetime,
    ends_at: datetime,
    reason: str,
    address: str | None = None,
    now: datetime,
) -> MaintenanceWindow:
    """From start to end nobody may hold these nodes; the engine plans around it from now on."""
    require_platform_admin(user)
    problems = [*_node_problems(nodes), *_time_problems(starts_at, ends_at, now), *_reason_problems(reason)]
    if problems:
        raise Invalid(details=problems)
    with transaction.atomic():
        window = MaintenanceWindow.objects.create(
            reason=reason.strip(),
            nodes=sorted(set(nodes)),
            starts_at=starts_at,
            ends_at=ends_at,
            created_by=user,
            created_at=now,
        )
        _record(user, "window_planned", window, address=address, now=now)
    wake_tick()
    return window


def cancel_window(
    *, user: User, window_id: UUID, address: str | None = None, now: datetime
) -> MaintenanceWindow:
    """Take the window back; the nodes can be used again at once. A repeat changes nothing."""
    require_platform_admin(user)
    with transaction.atomic():
        window = MaintenanceWindow.objects.select_for_update(no_key=True).filter(id=window_id).first()
        if window is None:
            raise NotFound(kind=_("maintenance window"), id=str(window_id))
        if window.cancelled_at is None:
            window.cancelled_at = now
            window.save(update_fields=["cancelled_at"])
            _record(user, "window_cancelled", window, address=address, now=now)
    wake_tick()
    return window


def _node_problems(nodes: Sequence[str]) -> list[Problem]:
    present = Node.objects.exclude(state=NodeState.REMOVED)
    known = set(present.filter(name__in=list(nodes)).values_list("name", flat=True))
    unknown = [name for name in nodes if name not in known]
    if not nodes:
        return [Problem("nodes", _("must name one node at least"))]
    return [Problem("nodes", _("there is no node “%(name)s”") % {"name": name[:60]}) for name in unknown[:5]]


def _time_problems(starts_at: datetime, ends_at: datetime, now: datetime) -> list[Problem]:
    if ends_at <= now:
        return [Problem("ends_at", _("must be in the future"))]
    return [] if starts_at < ends_at else [Problem("ends_at", _("must be after the start"))]


def _reason_problems(reason: str) -> list[Problem]:
    if reason.strip() and len(reason) <= LONGEST_REASON and is_printable(reason):
        return []
    rule = _("is required: printable characters only, at most %(most)d") % {"most": LONGEST_REASON}
    return [Problem("reason", rule)]


def _record(
    user: User, action: str, window: MaintenanceWindow, *, address: str | None, now: datetime
) -> None:
    record_audit(
        actor=user,
        action=action,
        object_kind="maintenance_window",
        object_id=str(window.id),
        data={
            "nodes": window.nodes,
            "starts_at": window.starts_at.isoformat(),
            "ends_at": window.ends_at.isoformat(),
            "reason": window.reason,
        },
        address=address,
        now=now,
    )
