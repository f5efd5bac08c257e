"""Many at once, on the real database: no limit is passed, nothing is lost, nobody waits for ever."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar
from uuid import UUID, uuid4

import pytest
from django.db import connection

from quotas.errors import LimitReached
from quotas.models import Holding, Queue
from quotas.services import create_queue, hold, release, set_quota
from refusals import Invalid
from tests.accounts.builders import NOW, Cast, make_cast
from tests.quotas.builders import a_queue, ledger_differences

THREADS = 8
T = TypeVar("T")


@pytest.fixture
def cast(transactional_db: None) -> Cast:
    """Committed, so that other connections see it."""
    return make_cast()


def at_once(work: Sequence[Callable[[], T]]) -> list[T]:
    """Run all of it in threads with connections of their own."""

    def run(one: Callable[[], T]) -> T:
        try:
            return one()
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, work, timeout=60))


def attempt(queue: Queue, user_id: int, holder: UUID) -> bool:
    """Whether it got its device."""
    try:
        hold(holder_id=holder, queue_id=queue.id, amount_milli=1000, user_id=user_id, now=NOW)
    except LimitReached:
        return False
    return True


def test_a_limit_of_ten_admits_exactly_ten_of_forty(cast: Cast) -> None:
    """From two queues below the limited one."""
    a_queue("r", limit_milli=10_000)
    queues = [a_queue("r/a"), a_queue("r/b")]
    work = [partial(attempt, queues[n % 2], cast.owner.id, uuid4()) for n in range(40)]
    assert sum(at_once(work)) == 10
    assert Queue.objects.get(path="r").used_milli == 10_000
    assert ledger_differences() == {}


def test_the_same_holder_at_once_holds_once(cast: Cast) -> None:
    """An order that is delivered twice."""
    queue, holder = a_queue("r/a"), uuid4()
    assert all(at_once([lambda: attempt(queue, cast.owner.id, holder)] * 16))
    assert Holding.objects.count() == 1
    assert Queue.objects.get(path="r").used_milli == 1000


def test_the_same_release_at_once_counts_once(cast: Cast) -> None:
    """A report that is delivered twice."""
    queue, holder = a_queue("r/a"), uuid4()
    attempt(queue, cast.owner.id, holder)
    assert sum(at_once([lambda: release(holder_id=holder, now=NOW)] * 16)) == 1
    assert Queue.objects.get(path="r").used_milli == 0


def test_holds_releases_and_quota_changes_do_not_block_each_other_for_ever(cast: Cast) -> None:
    """All lock in one order, so there is no deadlock; afterwards everything adds up."""
    a_queue("r", guarantee_milli=50_000)
    queues = [a_queue(path) for path in ("r/a", "r/a/x", "r/b")]

    def turn(number: int) -> None:
        queue, holder = queues[number % 3], uuid4()
        attempt(queue, cast.owner.id, holder)
        path = queues[(number + 1) % 3].path
        set_quota(user=cast.platform_admin, path=path, guarantee_milli=0, limit_milli=None, weight=2, now=NOW)
        release(holder_id=holder, now=NOW)

    at_once([partial(turn, number) for number in range(48)])
    assert ledger_differences() == {}
    assert set(Queue.objects.values_list("used_milli", flat=True)) == {0}


def test_two_admins_at_once_cannot_promise_the_same_devices_twice(cast: Cast) -> None:
    """The second sees the first one's promise."""
    a_queue("r", guarantee_milli=8000)

    def promise(number: int) -> bool:
        try:
            create_queue(user=cast.platform_admin, path=f"r/q{number}", guarantee_milli=5000, now=NOW)
        except Invalid:
            return False
        return True

    assert sum(at_once([partial(promise, number) for number in range(8)])) == 1
