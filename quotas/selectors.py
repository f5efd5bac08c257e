"""What there is to know about queues, for one reader or for the engine."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.models import Team, User
from accounts.permissions import RULES, Action
from accounts.selectors import teams_of
from quotas.arithmetic import borrowed_milli, chain_of, parent_of
from quotas.models import Holding, Queue
from quotas.services.chains import amounts_of
from refusals import NotFound
from scheduling import model

COUNTED_HALF_LIVES = 8  # what is older counts for less than half a per cent
NOTHING: Mapping[UUID, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """One queue as its readers see it. `is_manageable`: this reader may change its quota."""

    id: UUID
    path: str
    name: str
    depth: int
    team: str | None
    guarantee_milli: int
    limit_milli: int | None
    weight: int
    max_priority: int
    used_milli: int
    borrowed_milli: int
    user_limit_milli: int | None
    type_guarantees: Mapping[str, int]
    type_limits: Mapping[str, int]
    is_manageable: bool


def visible_queues(user: User) -> QuerySet[Queue]:
    """The queues of the user's teams, those below them and, for their numbers, those above; in path order."""
    queues = Queue.objects.select_related("team", "parent").order_by("path")
    if user.is_platform_admin and user.is_active:
        return queues
    own = Queue.objects.filter(team__in=teams_of(user)).values_list("path", flat=True)
    paths = set(own)
    above = {ancestor for path in paths for ancestor in chain_of(path)}
    below = [Q(path__startswith=f"{path}/") for path in paths if parent_of(path) not in paths]
    return queues.filter(Q(path__in=above) | _any(below))


def queue_tree(user: User) -> list[QueueRow]:
    """`visible_queues` as rows, parents before their children."""
    managed = set(teams_with(user, Action.MANAGE_TEAM_QUOTA).values_list("id", flat=True))
    return [_row(queue, user=user, managed=managed) for queue in visible_queues(user)]


def queue_by_path(user: User, path: str) -> Queue:
    """One queue that the user may see; `NotFound` for any other and for none alike."""
    queue = visible_queues(user).filter(path=path).first()
    if queue is None:
        raise NotFound(kind=_("queue"), id=path)
    return queue


def queue_row(user: User, path: str) -> QueueRow:
    """One row of `queue_tree`."""
    managed = set(teams_with(user, Action.MANAGE_TEAM_QUOTA).values_list("id", flat=True))
    return _row(queue_by_path(user, path), user=user, managed=managed)


def queues_for(user: User) -> QuerySet[Queue]:
    """The queues that the user may submit to, in path order: those that belong to a team of theirs."""
    queues = Queue.objects.select_related("team").order_by("path")
    return queues.filter(team__in=teams_with(user, Action.SUBMIT_JOB))


def teams_with(user: User, action: Action) -> QuerySet[Team]:
    """The teams in which the user may do this; the same table as `accounts.permissions.allowed`."""
    teams = teams_of(user)
    if user.is_platform_admin:
        return teams
    roles = [role for role, actions in RULES.items() if action in actions]
    return teams.filter(memberships__user=user, memberships__role__in=roles)


def chain_rows(path: str) -> list[Queue]:
    """The queues from the root down to `path`, with their numbers, to say which of them is full."""
    return list(Queue.objects.filter(path__in=chain_of(path)).order_by("path"))


def past_usage(*, now: datetime, half_life: timedelta) -> dict[UUID, int]:
    """Queue id to its own past usage in milli-accelerators: the average over all time up to now, in which an
    hour counts half as much as one that is `half_life` later.
    """
    halves = half_life.total_seconds()
    counted = Holding.objects.filter(
        Q(released_at__isnull=True) | Q(released_at__gt=now - COUNTED_HALF_LIVES * half_life)
    )
    past: dict[UUID, float] = {}
    rows = counted.values_list("queue_id", "amount_milli", "held_at", "released_at")
    for queue_id, amount_milli, held_at, released_at in rows.iterator():
        begun, over = ((now - at).total_seconds() / halves for at in (held_at, min(released_at or now, now)))
        past[queue_id] = past.get(queue_id, 0.0) + amount_milli * (2**-over - 2**-begun)
    return {queue_id: round(amount) for queue_id, amount in past.items()}


def demand(past: Mapping[UUID, int] = NOTHING) -> list[model.Queue]:
    """The whole tree for the engine, in path order. `past`: queue id to its decayed past usage."""
    return [
        model.Queue(
            path=model.QueuePath(queue.path),
            parent=model.QueuePath(parent) if (parent := parent_of(queue.path)) else None,
            guarantee_milli=queue.guarantee_milli,
            limit_milli=queue.limit_milli,
            weight=queue.weight,
            type_guarantees=queue.type_guarantees,
            type_limits=queue.type_limits,
            user_limit_milli=queue.user_limit_milli,
            past_milli=past.get(queue.id, 0),
        )
        for queue in Queue.objects.order_by("path")
    ]


def _row(queue: Queue, *, user: User, managed: set[UUID]) -> QueueRow:
    names = chain_of(queue.path)
    parent_team = queue.parent.team_id if queue.parent else None
    return QueueRow(
        id=queue.id,
        path=queue.path,
        name=queue.path.rpartition("/")[2],
        depth=len(names) - 1,
        team=queue.team.slug if queue.team else None,
        guarantee_milli=queue.guarantee_milli,
        limit_milli=queue.limit_milli,
        weight=queue.weight,
        max_priority=queue.max_priority,
        used_milli=queue.used_milli,
        borrowed_milli=borrowed_milli(amounts_of(queue)),
        user_limit_milli=queue.user_limit_milli,
        type_guarantees=queue.type_guarantees,
        type_limits=queue.type_limits,
        is_manageable=user.is_platform_admin or parent_team in managed,
    )


def _any(conditions: list[Q]) -> Q:
    """One of the conditions; with none of them, nothing."""
    found = Q(pk__in=[])
    for condition in conditions:
        found |= condition
    return found
