"""The clock's work on jobs: the tick, reconciling, and keeping a conductor alive. Short and idempotent."""

import logging
import os
from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from cluster.selectors import conductor_state
from jobs.services.exclusive import ENSURE_CONDUCTOR, alone
from jobs.services.plans import forget_plans
from jobs.services.reconcile import reconcile
from jobs.services.tick import run_tick
from ray_runtime import launcher
from ray_runtime.local import passed_on

logger = logging.getLogger(__name__)

CONDUCTOR_SILENT_AFTER = timedelta(seconds=4)  # it says something every second


@shared_task(name="jobs.tick", ignore_result=True)
def tick() -> None:
    """Decide once and carry it out."""
    run_tick(now=timezone.now())


@shared_task(name="jobs.reconcile", ignore_result=True)
def reconcile_jobs() -> None:
    """File the differences between the database and what the conductor holds."""
    reconcile(now=timezone.now())


@shared_task(name="jobs.ensure_conductor", ignore_result=True)
def ensure_conductor() -> None:
    """Have a conductor started if none has been heard of lately. Harmless while one is alive but cut off."""
    heard = conductor_state().last_seen_at
    is_heard = heard is not None and timezone.now() - heard < CONDUCTOR_SILENT_AFTER
    if is_heard or not settings.ENV.ray_address:
        return
    with alone(ENSURE_CONDUCTOR) as held:
        if held:
            _start_conductor()


@shared_task(name="jobs.forget_plans", ignore_result=True)
def forget_old_plans() -> None:
    """Delete records of plans that are older than the policy keeps them."""
    forget_plans(now=timezone.now())


def _start_conductor() -> None:
    try:
        launcher.ensure_conductor(
            ray_address=settings.ENV.ray_address,
            portal_url=settings.ENV.public_url,
            token=settings.ENV.conductor_token,
            environ=passed_on(os.environ),
        )
    except launcher.LauncherError as error:
        logger.warning("no conductor for now: %s", error)
