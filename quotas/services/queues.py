"""Queues and their quotas, changed by those who may."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from accounts.models import Team, User
from accounts.permissions import ACTION_LABELS, Action, allowed, require
from accounts.services import record_audit
from eventlog.wakeups import wake_tick
from quotas.arithmetic import parent_of
from quotas.models import Queue
from quotas.rules import NONE, path_problems, quota_problems
from quotas.services.chains import amounts_of, lock_family
from refusals import Conflict, Forbidden, Invalid, NotFound, Problem

HIGHEST_PRIORITY = 1000


class Same(Enum):
    """What a change leaves as it is, where None is a value."""

    SAME = "same"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """What a queue is promised and allowed. `limit_milli` None: no limit of its own."""

    guarantee_milli: int = 0
    limit_milli: int | None = None
    weight: int = 1
    max_priority: int = HIGHEST_PRIORITY
    user_limit_milli: int | None = None  # what each single user may hold in the subtree
    type_guarantees: Mapping[str, int] = field(default_factory=dict)  # of one type, beside the totals
    type_limits: Mapping[str, int] = field(default_factory=dict)


def create_queue(
    *,
    user: User,
    path: str,
    team: Team | None = None,
    guarantee_milli: int = 0,
    limit_milli: int | None = None,
    weight: int = 1,
    max_priority: int = HIGHEST_PRIORITY,
    user_limit_milli: int | None = None,
    type_guarantees: Mapping[str, int] = NONE,
    type_limits: Mapping[str, int] = NONE,
    address: str | None = None,
    now: datetime,
) -> Queue:
    """Make a queue below an existing one (or a root). It belongs to `team`, or else to its parent's team.

    Platform admins make any; a team admin makes queues below the team's own.
    """
    if problems := path_problems(path):
        raise Invalid(details=problems)
    quota = Quota(
        guarantee_milli=guarantee_milli,
        limit_milli=limit_milli,
        weight=weight,
        max_priority=max_priority,
        user_limit_milli=user_limit_milli,
        type_guarantees=type_guarantees,
        type_limits=type_limits,
    )
    with transaction.atomic():
        parent = _room_for(user, path, team, quota)
        owner = team or (parent.team if parent else None)
        queue = Queue.objects.create(path=path, parent=parent, team=owner, created_at=now, **_columns(quota))
        _record(user, "queue_created", queue, data={"after": _columns(quota)}, address=address, now=now)
    wake_tick()
    return queue


def _room_for(user: User, path: str, team: Team | None, quota: Quota) -> Queue | None:
    """The parent of a new queue, locked with all its family; refuses what this user may not make there."""
    family = lock_family(path)
    parent = _parent(family, path)
    _require_manager(user, parent)
    _require_team(user, parent, team)
    if path in family:
        raise Conflict(why=_("there is already a queue of this name."))
    _check(family, path, quota)
    return parent


def set_quota(
    *,
    user: User,
    path: str,
    guarantee_milli: int | Same = Same.SAME,
    limit_milli: int | Same | None = Same.SAME,
    weight: int | Same = Same.SAME,
    max_priority: int | Same = Same.SAME,
    user_limit_milli: int | Same | None = Same.SAME,
    type_guarantees: Mapping[str, int] | Same = Same.SAME,
    type_limits: Mapping[str, int] | Same = Same.SAME,
    address: str | None = None,
    now: datetime,
) -> Queue:
    """Change what a queue is promised and allowed, and let the scheduler look again. What is not given stays
    as it is when the queue is locked: two who change different numbers at once both succeed.

    Lowering below what is in use stops nothing: the queue shows 4 of 2 and admits nothing until it is below.
    """
    with transaction.atomic():
        family = lock_family(path)
        queue = family.get(path)
        if queue is None:
            raise NotFound(kind=_("queue"), id=path)
        _require_manager(user, queue.parent, own=queue)
        before = Quota(**{name: getattr(queue, name) for name in Quota.__slots__})
        asked = {
            "guarantee_milli": guarantee_milli,
            "limit_milli": limit_milli,
            "weight": weight,
            "max_priority": max_priority,
            "user_limit_milli": user_limit_milli,
            "type_guarantees": type_guarantees,
            "type_limits": type_limits,
        }
        given: dict[str, Any] = {name: value for name, value in asked.items() if value is not Same.SAME}
        after = replace(before, **given)
        _check(family, path, after)
        for name, value in _columns(after).items():
            setattr(queue, name, value)
        queue.save(update_fields=list(_columns(after)))  # never `used_milli`: that is the ledger's
        data = {"before": _columns(before), "after": _columns(after)}
        _record(user, "quota_set", queue, data=data, address=address, now=now)
    wake_tick()
    return queue


def _parent(family: dict[str, Queue], path: str) -> Queue | None:
    parent_path = parent_of(path)
    if parent_path is None:
        return None
    if parent_path not in family:
        raise NotFound(kind=_("queue"), id=parent_path)
    return family[parent_path]


def _require_manager(user: User, parent: Queue | None, *, own: Queue | None = None) -> None:
    """Whoever manages the parent's team divides what the parent has; else it is the platform's.

    One who only sees the queue is told that it is forbidden, a stranger that it does not exist.
    """
    team = parent.team if parent else None
    action = Action.MANAGE_TEAM_QUOTA if team else Action.MANAGE_PLATFORM
    if allowed(user, action, team=team):
        return
    concerned = [queue for queue in (own, parent) if queue is not None]
    owners = [queue.team for queue in concerned if queue.team is not None]
    if owners and not any(allowed(user, Action.VIEW_TEAM, team=owner) for owner in owners):
        raise NotFound(kind=_("queue"), id=concerned[0].path)
    raise Forbidden(action=ACTION_LABELS[action])


def _require_team(user: User, parent: Queue | None, team: Team | None) -> None:
    """A team admin may not hand part of the team's quota to another team."""
    if team is not None and (parent is None or team.pk != parent.team_id):
        require(user, Action.MANAGE_PLATFORM, team=None, kind=_("team"), id=team.slug)


def _check(family: dict[str, Queue], path: str, quota: Quota) -> None:
    parent_path = parent_of(path)
    relatives = {p: amounts_of(queue) for p, queue in family.items() if p != path}
    problems: list[Problem] = quota_problems(
        guarantee_milli=quota.guarantee_milli,
        limit_milli=quota.limit_milli,
        weight=quota.weight,
        max_priority=quota.max_priority,
        user_limit_milli=quota.user_limit_milli,
        type_guarantees=quota.type_guarantees,
        type_limits=quota.type_limits,
        parent=relatives.get(parent_path) if parent_path else None,
        siblings=[q for p, q in relatives.items() if parent_of(p) == parent_path],
        children=[q for p, q in relatives.items() if parent_of(p) == path],
    )
    if problems:
        raise Invalid(details=problems)


def _columns(quota: Quota) -> dict[str, Any]:
    columns = {name: getattr(quota, name) for name in Quota.__slots__}
    return columns | {name: dict(columns[name]) for name in ("type_guarantees", "type_limits")}


def _record(
    user: User, action: str, queue: Queue, *, data: dict[str, Any], address: str | None, now: datetime
) -> None:
    record_audit(
        actor=user,
        action=action,
        object_kind="queue",
        object_id=queue.path,
        team=queue.team,
        data=data,
        address=address,
        now=now,
    )
