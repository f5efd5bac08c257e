"""Shipping of closed streams, by the clock."""

from celery import shared_task
from django.utils import timezone

from artifacts.services import ship_streams


@shared_task(name="artifacts.ship_streams", ignore_result=True)
def ship_closed_streams() -> None:
    """Move closed streams to the store if it is a remote one."""
    ship_streams(now=timezone.now())
