"""The record of the live engine's plans: one row for each, or for several in a row that say the same."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from jobs.live import Reading
from jobs.models import PlanRecord
from jobs.services.apply_plan import Applied, reservation_json
from jobs.services.policy import plans_kept_for
from scheduling.model import JobPhase, Plan


def record_plan(plan: Plan, reading: Reading, applied: Applied, *, duration_ms: float, now: datetime) -> None:
    """Store what was decided. One that says what the newest record says only lengthens it."""
    facts = _facts(plan, reading, applied)
    newest = PlanRecord.objects.order_by("-at", "-id").first()
    if newest is not None and all(getattr(newest, name) == value for name, value in facts.items()):
        newest.last_at = now
        newest.num_plans += 1
        newest.duration_ms = max(newest.duration_ms, duration_ms)
        newest.save(update_fields=["last_at", "num_plans", "duration_ms"])
    else:
        PlanRecord.objects.create(at=now, last_at=now, duration_ms=duration_ms, **facts)


def forget_plans(*, now: datetime) -> int:
    """Delete records older than the policy keeps them; how many."""
    oldest = now - timedelta(days=plans_kept_for())
    return PlanRecord.objects.filter(last_at__lt=oldest).delete()[0]


def _facts(plan: Plan, reading: Reading, applied: Applied) -> Mapping[str, Any]:
    waiting = sum(job.phase is JobPhase.WAITING for job in reading.snapshot.jobs)
    return {
        "policy": asdict(plan.policy),
        "num_jobs": len(reading.snapshot.jobs),
        "num_waiting": waiting - len(plan.starts) + len(reading.outside),
        "num_starts": applied.num_started,
        "num_evictions": applied.num_evicted,
        "num_resizes": applied.num_resized,
        "num_keeps": len(plan.keeps),
        "num_dropped": applied.num_dropped,
        "reservations": [{"job": row.job, **reservation_json(row)} for row in plan.reservations],
    }
