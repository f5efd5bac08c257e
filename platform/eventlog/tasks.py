"""The relay, by the clock."""

from celery import shared_task
from django.utils import timezone

from eventlog.services import relay_events


@shared_task(name="eventlog.relay", ignore_result=True)
def relay() -> None:
    """Publish what a crash or an outage left unpublished."""
    relay_events(now=timezone.now())
