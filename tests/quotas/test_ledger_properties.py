"""Whatever is held, released and set, in any order: the ledger adds up and no limit is passed by a grant."""

from uuid import UUID, uuid5

from django.db import connection
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from accounts.models import User
from quotas.arithmetic import chain_of
from quotas.errors import LimitReached
from quotas.models import Holding, Queue
from quotas.services import hold, release, set_quota
from refusals import Conflict, Invalid
from tests.accounts.builders import NOW, a_user
from tests.quotas.builders import a_queue, ledger_differences

PATHS = ("r", "r/a", "r/a/x", "r/a/y", "r/b", "s")
AMOUNTS = st.integers(0, 5000)
HOLDERS = st.integers(0, 11).map(lambda number: uuid5(UUID(int=0), str(number)))


class Ledger(RuleBasedStateMachine):
    """A tree of six queues and a dozen holders, beside a model of who holds what."""

    admin: User

    def __init__(self) -> None:
        """Each example begins with an empty tree; the test's transaction is rolled back at its end."""
        super().__init__()
        Holding.objects.all().delete()
        Queue.objects.filter(parent__parent__isnull=False).delete()
        Queue.objects.filter(parent__isnull=False).delete()
        Queue.objects.all().delete()
        self.queues = {path: a_queue(path, limit_milli=9000) for path in PATHS}
        self.admin = User.objects.filter(username="admin").first() or a_user("admin", is_platform_admin=True)
        self.held: dict[UUID, tuple[str, int]] = {}
        self.gone: set[UUID] = set()

    @rule(holder=HOLDERS, path=st.sampled_from(PATHS), amount=AMOUNTS)
    def hold_some(self, holder: UUID, path: str, amount: int) -> None:
        """The model says beforehand what must come of it."""
        limits = dict(Queue.objects.values_list("path", "limit_milli"))
        room = [limit - self.used(above) for above in chain_of(path) if (limit := limits[above]) is not None]
        fits = amount == 0 or amount <= min(room, default=amount)
        queue = self.queues[path]
        try:
            hold(holder_id=holder, queue_id=queue.id, amount_milli=amount, user_id=self.admin.id, now=NOW)
        except LimitReached:
            assert holder not in self.held and holder not in self.gone and not fits
        except Conflict:
            assert holder in self.gone or self.held[holder] != (path, amount)
        else:
            assert self.held.get(holder) == (path, amount) or fits
            self.held[holder] = (path, amount)

    @rule(holder=HOLDERS)
    def release_one(self, holder: UUID) -> None:
        """True exactly when there was something."""
        assert release(holder_id=holder, now=NOW) is (holder in self.held)
        if self.held.pop(holder, None) is not None:
            self.gone.add(holder)

    @rule(path=st.sampled_from(PATHS), guarantee=AMOUNTS, limit=st.none() | st.integers(0, 9000))
    def set_some_quota(self, path: str, guarantee: int, limit: int | None) -> None:
        """Allowed or refused: never does it touch what is held."""
        try:
            set_quota(
                user=self.admin,
                path=path,
                guarantee_milli=guarantee,
                limit_milli=limit,
                weight=1,
                now=NOW,
            )
        except Invalid as refused:
            assert refused.details

    @precondition(lambda self: self.held)
    @rule()
    def release_everything(self) -> None:
        """Then nothing is in use anywhere."""
        for holder in list(self.held):
            self.release_one(holder)
        assert set(Queue.objects.values_list("used_milli", flat=True)) == {0}

    @invariant()
    def the_ledger_adds_up(self) -> None:
        """By our own sum, by the model's, and by the database's."""
        assert ledger_differences() == {}
        booked = dict(Queue.objects.values_list("path", "used_milli"))
        assert booked == {path: self.used(path) for path in PATHS}
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")

    @invariant()
    def guarantees_fit_into_the_parents(self) -> None:
        """Every promise can be kept."""
        for queue in Queue.objects.filter(children__isnull=False).distinct():
            promised = sum(queue.children.values_list("guarantee_milli", flat=True))
            assert promised <= queue.guarantee_milli or promised == 0

    def used(self, path: str) -> int:
        """The model's sum of the subtree."""
        return sum(amount for held_in, amount in self.held.values() if path in chain_of(held_in))


class LedgerTest(TestCase):
    """Runs the machine inside one transaction."""

    def test_any_sequence(self) -> None:
        """A few dozen of them."""
        run_state_machine_as_test(
            Ledger,
            settings=settings(
                max_examples=30,
                stateful_step_count=25,
                deadline=None,
                suppress_health_check=[HealthCheck.too_slow],
            ),
        )
