"""Who may make queues and change quotas, and what that does."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import AuditEntry, Role
from quotas.models import Queue
from quotas.services import create_queue, hold, set_quota
from refusals import Conflict, Forbidden, Invalid, NotFound
from tests.accounts.builders import NOW, Cast, a_user
from tests.quotas.builders import a_queue


def quota(guarantee: int = 0, limit: int | None = None, weight: int = 1) -> dict[str, Any]:
    """Arguments of `set_quota`, in devices."""
    limit_milli = None if limit is None else limit * 1000
    return {"guarantee_milli": guarantee * 1000, "limit_milli": limit_milli, "weight": weight, "now": NOW}


@pytest.fixture
def queues(cast: Cast) -> Cast:
    """Team A has 8 below `research`, team B has 8."""
    a_queue("research", guarantee_milli=16_000)
    a_queue("research/a", team=cast.team_a, guarantee_milli=8000, limit_milli=16_000)
    a_queue("research/b", team=cast.team_b, guarantee_milli=8000)
    return cast


def test_a_team_admin_divides_what_the_team_has(queues: Cast) -> None:
    """New queues belong to the team, and the act is recorded."""
    queue = create_queue(user=queues.team_admin, path="research/a/微调", guarantee_milli=5000, now=NOW)
    assert queue.team == queues.team_a
    changed = set_quota(user=queues.team_admin, path="research/a/微调", **quota(6, 8, 2))
    assert (changed.guarantee_milli, changed.limit_milli, changed.weight) == (6000, 8000, 2)
    entry = AuditEntry.objects.get(action="quota_set")
    assert entry.team == queues.team_a
    assert (entry.data["before"]["guarantee_milli"], entry.data["after"]["guarantee_milli"]) == (5000, 6000)


@pytest.mark.parametrize(
    "act",
    [
        lambda cast: set_quota(user=cast.team_admin, path="research/a", **quota(9)),
        lambda cast: set_quota(user=cast.owner, path="research/a", **quota(1)),
        lambda cast: create_queue(user=cast.owner, path="research/a/x", now=NOW),
        lambda cast: create_queue(user=cast.viewer, path="research/a/x", now=NOW),
        lambda cast: create_queue(user=cast.team_admin, path="research/x", now=NOW),
        lambda cast: create_queue(user=cast.team_admin, path="mine", now=NOW),
        lambda cast: create_queue(user=cast.team_admin, path="research/a/x", team=cast.team_b, now=NOW),
    ],
)
def test_what_is_not_below_the_own_queue_is_forbidden(queues: Cast, act: Callable[[Cast], Queue]) -> None:
    """The team's own queue is the platform's to change, and so is what it is given."""
    with pytest.raises(Forbidden):
        act(queues)


@pytest.mark.parametrize(
    "act",
    [
        lambda cast: set_quota(user=cast.team_admin, path="research/b", **quota(1)),
        lambda cast: create_queue(user=cast.team_admin, path="research/b/x", now=NOW),
        lambda cast: set_quota(user=cast.platform_admin, path="nowhere", **quota(1)),
        lambda cast: create_queue(user=cast.platform_admin, path="nowhere/x", now=NOW),
    ],
)
def test_another_teams_queue_reads_as_if_it_did_not_exist(queues: Cast, act: Callable[[Cast], Queue]) -> None:
    """Like one that really does not."""
    with pytest.raises(NotFound) as refused:
        act(queues)
    assert refused.value.message.startswith("There is no queue “")


def test_a_guest_queues_member_sees_it_and_may_not_change_it(queues: Cast) -> None:
    """A queue of team B below team A's is A's to divide."""
    a_queue("research/a/guests", team=queues.team_b)
    guest_admin = a_user("guest-admin", team=queues.team_b, role=Role.TEAM_ADMIN)
    with pytest.raises(Forbidden):
        set_quota(user=guest_admin, path="research/a/guests", **quota(1))
    set_quota(user=queues.team_admin, path="research/a/guests", **quota(1))


def test_a_bad_quota_is_refused_with_all_problems(queues: Cast) -> None:
    """Nothing is changed and nothing recorded."""
    a_queue("research/a/x", team=queues.team_a, guarantee_milli=3000)
    with pytest.raises(Invalid) as refused:
        create_queue(
            user=queues.team_admin, path="research/a/y", guarantee_milli=6000, limit_milli=1, now=NOW
        )
    told = {item.path: str(item.problem) for item in refused.value.details}
    assert told == {
        "limit": "of 0.001 is below the guarantee of 6",
        "guarantee": "is more than “research/a” has left to give: 5 of its own guarantee of 8",
    }
    assert not Queue.objects.filter(path="research/a/y").exists()
    assert not AuditEntry.objects.exists()


def test_a_queue_is_not_made_twice(queues: Cast) -> None:
    """The second is told so."""
    with pytest.raises(Conflict) as refused:
        create_queue(user=queues.platform_admin, path="research/a", now=NOW)
    assert refused.value.message.endswith("there is already a queue of this name.")


def test_a_bad_path_is_invalid(queues: Cast) -> None:
    """Whoever asks."""
    with pytest.raises(Invalid):
        create_queue(user=queues.platform_admin, path="research/../x", now=NOW)


def test_lowering_below_use_stops_nothing_and_shows_it(queues: Cast) -> None:
    """4 of 2: what is held stays held."""
    queue = Queue.objects.get(path="research/b")
    hold(holder_id=queue.id, queue_id=queue.id, amount_milli=4000, user_id=queues.outsider.id, now=NOW)
    lowered = set_quota(user=queues.platform_admin, path="research/b", **quota(2, 2))
    assert (lowered.used_milli, lowered.limit_milli) == (4000, 2000)


def test_the_highest_priority_is_kept_unless_given(queues: Cast) -> None:
    """An old client does not know of it."""
    set_quota(user=queues.platform_admin, path="research/b", max_priority=300, **quota(2))
    assert set_quota(user=queues.platform_admin, path="research/b", **quota(3)).max_priority == 300


def test_what_is_not_given_stays_as_another_admin_set_it(queues: Cast) -> None:
    """Two who change different numbers of one queue at once both have their way."""
    admin = queues.platform_admin
    set_quota(user=admin, path="research/b", weight=5, now=NOW)
    set_quota(user=admin, path="research/b", limit_milli=9000, now=NOW)
    changed = set_quota(user=admin, path="research/b", max_priority=300, now=NOW)
    assert (changed.weight, changed.limit_milli, changed.max_priority) == (5, 9000, 300)
