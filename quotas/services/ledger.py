"""The reservation ledger: what attempts hold in queues. The only writer of `Holding` and of `used_milli`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, Sum
from django.utils.translation import gettext_lazy as _

from quotas.arithmetic import chain_of, first_full
from quotas.errors import LimitReached
from quotas.models import Holding, Queue
from quotas.services.chains import amounts_of, lock_chain, lock_chains
from refusals import Conflict


def hold(
    *,
    holder_id: UUID,
    queue_id: UUID,
    amount_milli: int,
    user_id: int,
    accelerator_type: str = "",
    now: datetime,
) -> Holding:
    """Charge an attempt to a queue and to all above it, or raise `LimitReached` for the first that is full.

    Idempotent per holder: a repeat gives the holding that is there. A holder that has released once, or holds
    something else, is a `Conflict`.
    """
    with transaction.atomic():
        chain = lock_chain(Queue.objects.values_list("path", flat=True).get(id=queue_id))
        if present := Holding.objects.filter(holder_id=holder_id).first():
            return _same(present, queue_id, amount_milli)
        full = first_full([amounts_of(queue) for queue in chain], amount_milli)
        if full is not None:
            raise LimitReached.of(full, asked_milli=amount_milli)
        _check_others(chain, amount_milli, accelerator_type=accelerator_type, user_id=user_id, held=_held)
        _charge(chain, amount_milli)
        return Holding.objects.create(
            holder_id=holder_id,
            queue_id=queue_id,
            amount_milli=amount_milli,
            accelerator_type=accelerator_type,
            user_id=user_id,
            held_at=now,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one new holder wants to hold."""

    holder_id: UUID
    queue_id: UUID
    path: str
    amount_milli: int
    accelerator_type: str
    user_id: int


def hold_many(claims: Sequence[Claim], *, now: datetime) -> dict[UUID, LimitReached | None]:
    """`hold` for several new holders, one after the other as given: who is refused, and by which limit.

    As many statements as there are queues to charge, whatever the number of claims.
    """
    with transaction.atomic():
        ledger = _Ledger(lock_chains({claim.path for claim in claims}))
        answers = {claim.holder_id: ledger.refusal(claim) for claim in claims}
        ledger.write([claim for claim in claims if answers[claim.holder_id] is None], now=now)
    return answers


class _Ledger:
    """Locked queues, and what claims have taken in them so far."""

    def __init__(self, queues: dict[str, Queue]) -> None:
        self._queues = queues
        self._taken: dict[UUID, int] = {}
        self._held: dict[tuple[UUID, str, object], int] = {}  # queue, type or user, which: in use

    def refusal(self, claim: Claim) -> LimitReached | None:
        """The limit that does not bear the claim; with none, it is taken."""
        chain = [self._queues[path] for path in chain_of(claim.path)]
        full = first_full([amounts_of(queue) for queue in chain], claim.amount_milli)
        if full is not None:
            return LimitReached.of(full, asked_milli=claim.amount_milli)
        try:
            _check_others(
                chain,
                claim.amount_milli,
                accelerator_type=claim.accelerator_type,
                user_id=claim.user_id,
                held=self._in_use,
            )
        except LimitReached as refusal:
            return refusal
        self._take(chain, claim)
        return None

    def write(self, claims: Sequence[Claim], *, now: datetime) -> None:
        """Charge the queues and book the holdings."""
        for queue_id, amount_milli in self._taken.items():
            Queue.objects.filter(id=queue_id).update(used_milli=F("used_milli") + amount_milli)
        Holding.objects.bulk_create(
            Holding(
                holder_id=claim.holder_id,
                queue_id=claim.queue_id,
                amount_milli=claim.amount_milli,
                accelerator_type=claim.accelerator_type,
                user_id=claim.user_id,
                held_at=now,
            )
            for claim in claims
        )

    def _in_use(self, queue: Queue, **whose: object) -> int:
        ((name, value),) = whose.items()
        key = (queue.id, name, value)
        if key not in self._held:
            self._held[key] = _held(queue, **whose)
        return self._held[key]

    def _take(self, chain: Sequence[Queue], claim: Claim) -> None:
        for queue in chain:
            queue.used_milli += claim.amount_milli
            self._taken[queue.id] = self._taken.get(queue.id, 0) + claim.amount_milli
            for key in (
                (queue.id, "accelerator_type", claim.accelerator_type),
                (queue.id, "user_id", claim.user_id),
            ):
                if key in self._held:
                    self._held[key] += claim.amount_milli


def release(*, holder_id: UUID, now: datetime) -> bool:
    """Give back what the holder holds; False if it holds nothing (any more). Idempotent."""
    with transaction.atomic():
        holding = Holding.objects.select_related("queue").filter(holder_id=holder_id).first()
        if holding is None:
            return False
        chain = lock_chain(holding.queue.path)
        closed_at = max(now, holding.held_at)  # clocks of two machines may differ by a little
        live = Holding.objects.filter(pk=holding.pk, released_at__isnull=True)
        if not live.update(released_at=closed_at):
            return False
        _charge(chain, -holding.amount_milli)
        return True


def _check_others(
    chain: Sequence[Queue],
    amount_milli: int,
    *,
    accelerator_type: str,
    user_id: int,
    held: Callable[..., int],
) -> None:
    """Refuse what the limit of the accelerator type, or the user's own, does not bear in a queue."""
    for queue in chain if amount_milli else ():
        limit = queue.type_limits.get(accelerator_type)
        if limit is not None:
            used = held(queue, accelerator_type=accelerator_type)
            whose = _(" of type %(type)s") % {"type": accelerator_type}
            _check(queue, used, limit, amount_milli, whose=whose)
        if queue.user_limit_milli is not None:
            used = held(queue, user_id=user_id)
            _check(queue, used, queue.user_limit_milli, amount_milli, whose=str(_(" for one user")))


def _check(queue: Queue, used_milli: int, limit_milli: int, amount_milli: int, *, whose: str) -> None:
    if used_milli + amount_milli > limit_milli:
        raise LimitReached.beside(queue.path, used_milli, limit_milli, amount_milli, whose=whose)


def _held(queue: Queue, **whose: object) -> int:
    """What is held in the queue's subtree, of one type or by one user. The chain's locks keep it still."""
    subtree = Q(queue=queue) | Q(queue__path__startswith=f"{queue.path}/")
    live = Holding.objects.filter(subtree, released_at__isnull=True, **whose)
    return live.aggregate(sum=Sum("amount_milli"))["sum"] or 0


def _charge(chain: Sequence[Queue], amount_milli: int) -> None:
    ids = [queue.id for queue in chain]
    Queue.objects.filter(id__in=ids).update(used_milli=F("used_milli") + amount_milli)


def _same(present: Holding, queue_id: UUID, amount_milli: int) -> Holding:
    if present.released_at is not None:
        raise Conflict(why=_("the attempt has already given back what it held."))
    if present.queue_id != queue_id or present.amount_milli != amount_milli:
        raise Conflict(why=_("the attempt already holds something else."))
    return present
