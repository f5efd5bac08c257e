"""Fencing: one conductor is in charge, and each of its reports counts once."""

from datetime import datetime

from django.db import transaction

from cluster.errors import ReportGap, StaleEpoch
from cluster.models import Conductor, ReportCursor

THE_ONE = 1


def take_epoch(*, incarnation: str, now: datetime) -> int:
    """Put this incarnation in charge; its epoch. Idempotent: the one in charge keeps its epoch."""
    with transaction.atomic():
        conductor = lock_conductor()
        if conductor.incarnation != incarnation:
            conductor.epoch += 1
            conductor.incarnation = incarnation
            conductor.rebuilt = False
            conductor.attempts = {}
        conductor.last_seen_at = now
        conductor.save()
        return conductor.epoch


def check_epoch(epoch: int) -> None:
    """Raise `StaleEpoch` unless this is the present one; it stays so until the caller's transaction ends."""
    with transaction.atomic():
        present = lock_conductor().epoch
        if epoch != present:
            raise StaleEpoch(given=epoch, present=present)


def advance_cursor(*, incarnation: str, first_seq: int, count: int, now: datetime) -> int:
    """Note that reports `first_seq` to `first_seq + count - 1` are taken in, in the caller's transaction.

    How many of them are new: the last ones of the batch. Raises `ReportGap` if some are missing before.
    """
    with transaction.atomic():
        ReportCursor.objects.get_or_create(incarnation=incarnation, defaults={"updated_at": now})
        cursor = ReportCursor.objects.select_for_update(no_key=True).get(incarnation=incarnation)
        if first_seq > cursor.seq + 1:
            raise ReportGap(given=first_seq, expected=cursor.seq + 1)
        num_new = max(0, first_seq + count - 1 - cursor.seq)
        if num_new:
            cursor.seq += num_new
            cursor.updated_at = now
            cursor.save()
        return num_new


def lock_conductor() -> Conductor:
    """The one row, locked until the transaction ends."""
    Conductor.objects.get_or_create(id=THE_ONE)
    return Conductor.objects.select_for_update(no_key=True).get(id=THE_ONE)
