"""Celery: two queues (`tick` with its one worker, `default` for the rest), and what beat sends when.

Tasks are short, idempotent steps; none returns a value that anyone waits for.
"""

import os
from typing import Any

from celery import Celery, Task

from portal.heartbeats import give_signs_of_life
from portal.request_ids import task_id_in_logs

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")


class PlatformTask(Task):  # type: ignore[type-arg]  # Celery's class takes none at run time
    """The base of every task: its id stands on its log lines, and a failure is logged with its trace."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the task's body."""
        with task_id_in_logs(self.request.id or "-"):
            return super().__call__(*args, **kwargs)


def _every(seconds: float, task: str) -> dict[str, Any]:
    # What was not taken when the next one is due is dropped: an outage leaves one to catch up, not 1,000.
    return {"task": task, "schedule": seconds, "options": {"expires": seconds * 2}}


app = Celery("gangline", task_cls=PlatformTask)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    task_default_queue="default",
    task_routes={"jobs.tick": {"queue": "tick"}},
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
    # A killed worker's task comes back after the timeout and one sweep; the default sweep took 100 s.
    broker_transport_options={
        "visibility_timeout": 600,
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
        "socket_keepalive": True,
        "health_check_interval": 10,
    },
    timezone="UTC",
    beat_schedule={
        "tick": _every(2, "jobs.tick"),
        "sync-cluster": _every(3, "cluster.sync_cluster"),
        "relay": _every(5, "eventlog.relay"),
        "reconcile": _every(5, "jobs.reconcile"),
        "ensure-conductor": _every(5, "jobs.ensure_conductor"),
        "ship-streams": _every(30, "artifacts.ship_streams"),
        "forget-plans": _every(3600, "jobs.forget_plans"),
        "forget-answers": _every(3600, "portal.forget_answers"),
    },
)
app.autodiscover_tasks()
give_signs_of_life()
