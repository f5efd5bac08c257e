"""What queues used in the past, as the fair share counts it."""

from datetime import timedelta
from uuid import uuid4

from quotas.selectors import demand, past_usage
from quotas.services import hold, release
from tests.accounts.builders import NOW, Cast
from tests.quotas.builders import a_queue

HOUR = timedelta(hours=1)


def test_usage_counts_half_after_a_half_life(cast: Cast) -> None:
    """Four devices for all time up to a half-life ago average two; those held on count in full."""
    old, present, idle = (a_queue(path, team=cast.team_a) for path in ("old", "present", "idle"))
    for queue in (old, present):
        holder = uuid4()
        long_ago = NOW - 1000 * HOUR
        hold(holder_id=holder, queue_id=queue.id, amount_milli=4000, user_id=cast.owner.id, now=long_ago)
        if queue is old:
            release(holder_id=holder, now=NOW - HOUR)
    past = past_usage(now=NOW, half_life=HOUR)
    assert (past[old.id], past[present.id], past.get(idle.id)) == (2000, 4000, None)
    assert {queue.path: queue.past_milli for queue in demand(past)} == {
        "old": 2000,
        "present": 4000,
        "idle": 0,
    }
    assert past_usage(now=NOW + 9 * HOUR, half_life=HOUR).get(old.id) is None
