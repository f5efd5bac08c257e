"""The watch on silence, by the clock."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from cluster.services import mark_silent_nodes


@shared_task(name="cluster.sync_cluster", ignore_result=True)
def sync_cluster() -> None:
    """Declare unreachable whatever has not been heard of for too long."""
    silence = timedelta(seconds=settings.ENV.node_silence_seconds)
    mark_silent_nodes(now=timezone.now(), silence=silence)
