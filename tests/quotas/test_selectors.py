"""What readers and the engine see of the tree."""

from uuid import uuid4

import pytest

from accounts.models import Role
from quotas.selectors import (
    demand,
    queue_by_path,
    queue_row,
    queue_tree,
    queues_for,
)
from quotas.services import hold
from refusals import NotFound
from tests.accounts.builders import NOW, Cast, a_user
from tests.quotas.builders import a_queue


@pytest.fixture
def queues(cast: Cast) -> Cast:
    """A tree with both teams in it, one guest queue and one of nobody."""
    a_queue("research", guarantee_milli=16_000)
    a_queue("research/a", team=cast.team_a, guarantee_milli=8000)
    a_queue("research/a/x", team=cast.team_a)
    a_queue("research/a/guests", team=cast.team_b)
    a_queue("research/b", team=cast.team_b)
    a_queue("spare")
    return cast


def test_a_reader_sees_the_own_queues_those_above_and_those_below(queues: Cast) -> None:
    """In path order: a parent comes before its children."""
    assert [row.path for row in queue_tree(queues.owner)] == [
        "research",
        "research/a",
        "research/a/guests",
        "research/a/x",
    ]
    assert [row.path for row in queue_tree(queues.outsider)] == [
        "research",
        "research/a",
        "research/a/guests",
        "research/b",
    ]


def test_a_platform_admin_sees_and_manages_all(queues: Cast) -> None:
    """Queues of nobody too."""
    rows = queue_tree(queues.platform_admin)
    assert len(rows) == 6
    assert all(row.is_manageable for row in rows)


def test_a_team_admin_manages_what_is_below_the_own_queue(queues: Cast) -> None:
    """Not the queue itself."""
    managed = {row.path: row.is_manageable for row in queue_tree(queues.team_admin)}
    assert managed == {
        "research": False,
        "research/a": False,
        "research/a/guests": True,
        "research/a/x": True,
    }


def test_another_teams_queue_is_not_found(queues: Cast) -> None:
    """As one that does not exist."""
    assert queue_by_path(queues.owner, "research/a/x").path == "research/a/x"
    for path in ("research/b", "nowhere", "spare"):
        with pytest.raises(NotFound):
            queue_by_path(queues.owner, path)


def test_members_submit_to_their_teams_queues_and_viewers_to_none(queues: Cast) -> None:
    """A role per team counts."""
    assert [queue.path for queue in queues_for(queues.owner)] == ["research/a", "research/a/x"]
    assert not queues_for(queues.viewer).exists()
    both = a_user("both", team=queues.team_a, role=Role.VIEWER)
    both.memberships.create(team=queues.team_b, role=Role.MEMBER)
    assert [queue.path for queue in queues_for(both)] == ["research/a/guests", "research/b"]


def test_the_engine_gets_the_whole_tree_with_parents(queues: Cast) -> None:
    """In milli."""
    tree = {queue.path: queue for queue in demand()}
    assert tree["research/a"].parent == "research"  # type: ignore[index]  # paths are plain strings here
    assert tree["research"].parent is None  # type: ignore[index]  # as above
    assert tree["research"].guarantee_milli == 16_000  # type: ignore[index]  # as above


def test_a_row_has_its_numbers(queues: Cast) -> None:
    """Borrowed is what is beyond the guarantee."""
    queue = queue_by_path(queues.owner, "research/a")
    hold(holder_id=uuid4(), queue_id=queue.id, amount_milli=9500, user_id=queues.owner.id, now=NOW)
    row = queue_row(queues.owner, "research/a")
    assert (row.name, row.depth, row.team) == ("a", 1, "team-a")
    assert (row.guarantee_milli, row.limit_milli) == (8000, None)
    assert (row.used_milli, row.borrowed_milli) == (9500, 1500)
