"""Reading the log."""

from uuid import UUID

from django.db.models import QuerySet

from eventlog.models import Event


def events_of(job_id: UUID, *, after_seq: int = 0) -> QuerySet[Event]:
    """A job's events in order, from the one after `after_seq` on."""
    return Event.objects.filter(job_id=job_id, seq__gt=after_seq).order_by("seq")
