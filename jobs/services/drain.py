"""Emptying a node: no new work on it, and what runs there saves, leaves and goes on elsewhere."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from accounts.models import User
from cluster.services import cordon_node
from jobs.lifecycle import Cause, State, Trigger
from jobs.models import Attempt
from jobs.services.attempts import order_stop
from jobs.services.transition import Step, transition_many
from ray_runtime.protocol import StopIntent


def drain_node(
    *, user: User, name: str, reason: str, address: str | None = None, now: datetime
) -> list[UUID]:
    """Cordon the node and tell every job with a worker on it to leave; which jobs were told.

    They wait again at the place of their first submission, and it costs them no retry. Safe to repeat. For
    platform admins.
    """
    with transaction.atomic():
        cordon_node(user=user, name=name, reason=reason, address=address, now=now)
        step = Step(
            trigger=Trigger.STOP,
            cause=Cause.MAINTENANCE,
            actor_id=user.pk,
            intent=StopIntent.PREEMPT,
            effect=order_stop(StopIntent.PREEMPT, reason=Cause.MAINTENANCE, data={"node": name}),
        )
        answers = transition_many(dict.fromkeys(_on(name), step), now=now)
    return [job_id for job_id, refusal in answers.items() if refusal is None]


def _on(name: str) -> list[UUID]:
    live = Attempt.objects.filter(ended_at__isnull=True, job__state__in=(State.STARTING, State.RUNNING))
    return list(live.filter(placement__contains=[{"node": name}]).values_list("job_id", flat=True))
