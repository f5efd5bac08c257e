"""What admins decide about nodes: no new work on one, or forgetting one that is gone."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.permissions import require_platform_admin
from accounts.services import record_audit
from cluster.models import Node, NodeState
from eventlog.wakeups import wake_tick
from refusals import Conflict, Invalid, NotFound, Problem
from refusals.text import is_printable

LONGEST_REASON = 300


def cordon_node(*, user: User, name: str, reason: str, address: str | None = None, now: datetime) -> Node:
    """Give the node no new work; what runs there goes on. The reason is shown to everybody."""
    require_platform_admin(user)
    if len(reason) > LONGEST_REASON or not is_printable(reason):
        rule = _("must have printable characters only, at most %(most)d") % {"most": LONGEST_REASON}
        raise Invalid(details=[Problem("reason", rule)])
    return _set_cordoned(user, name, cordoned=True, reason=reason.strip(), address=address, now=now)


def uncordon_node(*, user: User, name: str, address: str | None = None, now: datetime) -> Node:
    """Let the node have new work again."""
    require_platform_admin(user)
    return _set_cordoned(user, name, cordoned=False, reason="", address=address, now=now)


def remove_node(*, user: User, name: str, address: str | None = None, now: datetime) -> Node:
    """Forget a node that is gone: it is not shown any more. If it ever comes back it is there again."""
    require_platform_admin(user)
    with transaction.atomic():
        node = _locked(name)
        if node.state == NodeState.READY:
            raise Conflict(why=_("the node is in the cluster; stop it first."))
        node.state, node.state_changed_at = NodeState.REMOVED, now
        node.save(update_fields=["state", "state_changed_at"])
        _record(user, "node_removed", node, address=address, now=now)
    return node


def _set_cordoned(
    user: User, name: str, *, cordoned: bool, reason: str, address: str | None, now: datetime
) -> Node:
    with transaction.atomic():
        node = _locked(name)
        node.cordoned, node.cordon_reason = cordoned, reason
        node.save(update_fields=["cordoned", "cordon_reason"])
        _record(user, "node_cordoned" if cordoned else "node_uncordoned", node, address=address, now=now)
    wake_tick()
    return node


def _locked(name: str) -> Node:
    nodes = Node.objects.select_for_update(no_key=True).exclude(state=NodeState.REMOVED)
    node = nodes.filter(name=name).first()
    if node is None:
        raise NotFound(kind=_("node"), id=name)
    return node


def _record(user: User, action: str, node: Node, *, address: str | None, now: datetime) -> None:
    data = {"reason": node.cordon_reason} if node.cordon_reason else {}
    record_audit(
        actor=user,
        action=action,
        object_kind="node",
        object_id=node.name,
        data=data,
        address=address,
        now=now,
    )
