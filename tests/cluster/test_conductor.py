"""Fencing: one conductor is in charge, and each of its reports counts once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from cluster.errors import ReportGap, StaleEpoch
from cluster.models import Conductor, ReportCursor
from cluster.selectors import conductor_state
from cluster.services import advance_cursor, check_epoch, take_epoch
from tests.accounts.builders import NOW


@pytest.mark.django_db
def test_each_new_incarnation_gets_the_next_epoch() -> None:
    """And the one in charge keeps its own, however often it asks."""
    assert conductor_state().epoch == 0
    assert take_epoch(incarnation="c1", now=NOW) == 1
    assert take_epoch(incarnation="c1", now=NOW) == 1
    assert take_epoch(incarnation="c2", now=NOW) == 2


@pytest.mark.django_db
def test_the_older_one_is_turned_away() -> None:
    """From the moment on at which the new one has its epoch."""
    check_epoch(0)
    take_epoch(incarnation="c1", now=NOW)
    check_epoch(1)
    take_epoch(incarnation="c2", now=NOW)
    with pytest.raises(StaleEpoch) as refused:
        check_epoch(1)
    assert refused.value.params == {"given": 1, "present": 2}


@pytest.mark.django_db
def test_a_new_conductor_begins_with_an_empty_record() -> None:
    """What the old one held is not taken for what the new one holds."""
    take_epoch(incarnation="c1", now=NOW)
    Conductor.objects.update(attempts={"a": "running"}, rebuilt=True)
    take_epoch(incarnation="c2", now=NOW)
    assert (conductor_state().attempts, conductor_state().rebuilt) == ({}, False)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("first_seq", "count", "num_new"), [(1, 3, 0), (3, 1, 0), (2, 4, 2), (4, 2, 2), (4, 0, 0), (1, 0, 0)]
)
def test_only_what_was_not_taken_in_is_new(first_seq: int, count: int, num_new: int) -> None:
    """After reports 1 to 3; the new ones are the last of the batch."""
    assert advance_cursor(incarnation="c1", first_seq=1, count=3, now=NOW) == 3
    assert advance_cursor(incarnation="c1", first_seq=first_seq, count=count, now=NOW) == num_new
    assert ReportCursor.objects.get().seq == 3 + num_new


@pytest.mark.django_db
def test_a_gap_is_refused_with_what_is_expected() -> None:
    """Nothing is skipped."""
    advance_cursor(incarnation="c1", first_seq=1, count=3, now=NOW)
    with pytest.raises(ReportGap) as refused:
        advance_cursor(incarnation="c1", first_seq=5, count=1, now=NOW)
    assert refused.value.status == 409
    assert refused.value.message == ("Reports begin at 5, but 4 is the next one: send again from there.")
    assert ReportCursor.objects.get().seq == 3


@pytest.mark.django_db
def test_each_incarnation_counts_for_itself() -> None:
    """From 1."""
    assert advance_cursor(incarnation="c1", first_seq=1, count=3, now=NOW) == 3
    assert advance_cursor(incarnation="c2", first_seq=1, count=2, now=NOW) == 2


@pytest.mark.django_db
def test_a_lost_transaction_takes_the_cursor_back() -> None:
    """The reports of that batch will come again, and are new again."""
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        advance_cursor(incarnation="c1", first_seq=1, count=3, now=NOW)
        _ = 1 / 0
    assert advance_cursor(incarnation="c1", first_seq=1, count=3, now=NOW) == 3


@pytest.mark.django_db(transaction=True)
def test_the_same_batch_many_times_at_once_counts_once() -> None:
    """A client that lost patience sends again while the first is still being taken in."""

    def take_in(_copy: int) -> int:
        try:
            return advance_cursor(incarnation="c1", first_seq=1, count=5, now=NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(take_in, range(16), timeout=60)) == [0] * 15 + [5]


@pytest.mark.django_db(transaction=True)
def test_conductors_at_once_get_different_epochs() -> None:
    """One of them is in charge at the end."""

    def take_over(incarnation: str) -> int:
        try:
            return take_epoch(incarnation=incarnation, now=NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        epochs = list(pool.map(take_over, [f"c{number}" for number in range(8)], timeout=60))
    assert sorted(epochs) == list(range(1, 9))
    assert conductor_state().epoch == 8
