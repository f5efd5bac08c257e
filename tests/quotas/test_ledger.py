"""Holding and releasing."""

import random
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, connection, transaction

from quotas.errors import LimitReached
from quotas.models import Holding, Queue
from quotas.services import Claim, hold, hold_many, release
from refusals import Conflict
from tests.accounts.builders import NOW, Cast
from tests.quotas.builders import a_queue, ledger_differences


@pytest.fixture
def queue(cast: Cast) -> Queue:
    """4 devices for team A, below a root with 8."""
    a_queue("research", limit_milli=8000)
    return a_queue("research/a", team=cast.team_a, limit_milli=4000)


def take(queue: Queue, cast: Cast, milli: int, holder: UUID | None = None) -> UUID:
    """Hold so much; who holds it."""
    holder = holder or uuid4()
    hold(holder_id=holder, queue_id=queue.id, amount_milli=milli, user_id=cast.owner.id, now=NOW)
    return holder


def used() -> dict[str, int]:
    """Path to what is in use."""
    return dict(Queue.objects.values_list("path", "used_milli"))


def test_a_holding_counts_in_every_queue_above(queue: Queue, cast: Cast) -> None:
    """And is gone from all of them when it is released."""
    holder = take(queue, cast, 2500)
    assert used() == {"research": 2500, "research/a": 2500}
    assert release(holder_id=holder, now=NOW + timedelta(hours=1)) is True
    assert used() == {"research": 0, "research/a": 0}
    assert Holding.objects.get(holder_id=holder).released_at == NOW + timedelta(hours=1)


def test_the_limit_is_refused_with_its_numbers(queue: Queue, cast: Cast) -> None:
    """Named: the queue, what is used, what is allowed, what was asked."""
    take(queue, cast, 4000)
    with pytest.raises(LimitReached) as refused:
        take(queue, cast, 500)
    assert refused.value.message == (
        "Queue “research/a” has 4 of 4 accelerators in use, so 0.5 more do not fit. "
        "Wait until some are released, or ask an admin to raise the limit."
    )
    assert used() == {"research": 4000, "research/a": 4000}


def test_the_limit_of_a_type_and_of_a_user_are_refused_apart(queue: Queue, cast: Cast) -> None:
    """In any queue above too; of other types and for other users there is room."""
    Queue.objects.filter(path="research").update(type_limits={"h100": 2000}, user_limit_milli=3000)

    def take_type(kind: str, milli: int, user_id: int) -> None:
        hold(
            holder_id=uuid4(),
            queue_id=queue.id,
            amount_milli=milli,
            accelerator_type=kind,
            user_id=user_id,
            now=NOW,
        )

    take_type("h100", 2000, cast.owner.id)
    with pytest.raises(LimitReached) as of_type:
        take_type("h100", 1000, cast.teammate.id)
    assert "2 of 2 accelerators of type h100 in use, so 1 more" in of_type.value.message
    with pytest.raises(LimitReached) as of_user:
        take_type("a100", 2000, cast.owner.id)
    assert "2 of 3 accelerators for one user in use, so 2 more" in of_user.value.message
    take_type("a100", 1000, cast.owner.id)
    take_type("a100", 1000, cast.teammate.id)
    assert used() == {"research": 4000, "research/a": 4000}


def test_many_claims_are_answered_as_one_after_the_other(queue: Queue, cast: Cast) -> None:
    """The same ones are refused, by the same limits, and the ledger is the same afterwards."""
    Queue.objects.filter(path="research").update(type_limits={"h100": 2500}, user_limit_milli=3000)
    rng = random.Random(3)
    users = (cast.owner.id, cast.teammate.id)
    claims = [
        Claim(
            holder_id=uuid4(),
            queue_id=queue.id,
            path=queue.path,
            amount_milli=rng.choice([0, 500, 1000, 2000]),
            accelerator_type=rng.choice(["h100", "a100"]),
            user_id=rng.choice(users),
        )
        for _claim in range(12)
    ]
    with transaction.atomic():
        one_by_one = {claim.holder_id: refused_by(claim) for claim in claims}
        alone = (used(), ledger_differences())
        transaction.set_rollback(True)
    together = {key: refusal and refusal.params for key, refusal in hold_many(claims, now=NOW).items()}
    assert together == one_by_one
    assert (used(), ledger_differences()) == alone
    assert {params is None for params in together.values()} == {True, False}


def refused_by(claim: Claim) -> object:
    """What `hold` refuses the claim with."""
    try:
        hold(
            holder_id=claim.holder_id,
            queue_id=claim.queue_id,
            amount_milli=claim.amount_milli,
            accelerator_type=claim.accelerator_type,
            user_id=claim.user_id,
            now=NOW,
        )
    except LimitReached as refusal:
        return refusal.params
    return None


def test_an_ancestors_limit_counts_too(queue: Queue, cast: Cast) -> None:
    """The first from the root down is named."""
    other = a_queue("research/b", team=cast.team_b)
    take(other, cast, 6000)
    with pytest.raises(LimitReached) as refused:
        take(queue, cast, 3000)
    assert refused.value.params["queue"] == "research"


def test_a_queue_over_its_lowered_limit_admits_only_what_takes_nothing(queue: Queue, cast: Cast) -> None:
    """4 of 2: no more accelerators, but a job without any may start."""
    take(queue, cast, 4000)
    Queue.objects.filter(id=queue.id).update(limit_milli=2000)
    with pytest.raises(LimitReached):
        take(queue, cast, 1)
    take(queue, cast, 0)


def test_holding_again_is_harmless(queue: Queue, cast: Cast) -> None:
    """Even when the limit is reached by then."""
    holder = take(queue, cast, 4000)
    take(queue, cast, 4000, holder)
    assert used() == {"research": 4000, "research/a": 4000}


def test_holding_something_else_is_a_conflict(queue: Queue, cast: Cast) -> None:
    """As is holding after the release."""
    holder = take(queue, cast, 1000)
    with pytest.raises(Conflict, match="conflict") as refused:
        take(queue, cast, 2000, holder)
    assert refused.value.message.endswith("the attempt already holds something else.")
    release(holder_id=holder, now=NOW)
    with pytest.raises(Conflict) as refused:
        take(queue, cast, 1000, holder)
    assert refused.value.message.endswith("the attempt has already given back what it held.")


def test_releasing_again_or_by_a_stranger_is_harmless(queue: Queue, cast: Cast) -> None:
    """And says that nothing was there."""
    holder = take(queue, cast, 1000)
    assert [release(holder_id=holder, now=NOW) for _ in range(3)] == [True, False, False]
    assert release(holder_id=uuid4(), now=NOW) is False
    assert used() == {"research": 0, "research/a": 0}


def test_a_clock_that_is_behind_cannot_end_a_holding_before_it_began(queue: Queue, cast: Cast) -> None:
    """Usage would be negative."""
    holder = take(queue, cast, 1000)
    release(holder_id=holder, now=NOW - timedelta(seconds=3))
    assert Holding.objects.get(holder_id=holder).released_at == NOW


def test_a_callers_rollback_takes_the_holding_along(queue: Queue, cast: Cast) -> None:
    """It is part of the caller's transaction."""
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        take(queue, cast, 1000)
        _ = 1 / 0
    assert used() == {"research": 0, "research/a": 0}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE quotas_queue SET used_milli = 5000 WHERE path = 'research'",
        "UPDATE quotas_queue SET used_milli = 1000 WHERE path = 'research/a'",
        "UPDATE quotas_holding SET released_at = held_at",
        "UPDATE quotas_holding SET amount_milli = 1",
        "DELETE FROM quotas_holding",
    ],
)
def test_the_database_refuses_a_ledger_that_does_not_add_up(queue: Queue, cast: Cast, statement: str) -> None:
    """Whoever wrote it, when the transaction ends."""
    take(queue, cast, 2000)
    with (
        pytest.raises(IntegrityError, match="milli-accelerators"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert ledger_differences() == {}


def test_steps_in_any_order_are_fine_until_the_transaction_ends(queue: Queue, cast: Cast) -> None:
    """The check is deferred."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE quotas_queue SET used_milli = 7000")
        cursor.execute("UPDATE quotas_queue SET used_milli = 0")
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert ledger_differences() == {}
