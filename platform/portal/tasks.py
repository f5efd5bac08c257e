"""Upkeep of the portal's own rows."""

from datetime import timedelta

from celery import shared_task
from django.contrib.sessions.models import Session
from django.utils import timezone

from portal.models import IdempotentAnswer

KEPT = timedelta(days=7)


@shared_task(name="portal.forget_answers")
def forget_answers() -> None:
    """Delete answers that nobody will ask for again, and sessions that have ended."""
    now = timezone.now()
    IdempotentAnswer.objects.filter(created_at__lt=now - KEPT).delete()
    Session.objects.filter(expire_date__lt=now).delete()
