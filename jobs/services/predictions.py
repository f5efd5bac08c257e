"""How long a job is expected to run, from those that ended by themselves: the engine's prediction, fed here.

One history per process, read from the newest jobs and then by what ended since. A job keeps what was
predicted when it was submitted; the engine never takes it for more than the job's limit.
"""

import hashlib
import json
import threading
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Sum

from jobs.lifecycle import Cause, State
from jobs.models import Job
from jobs.spec_model import JobSpec
from scheduling.prediction import Features, Grounds, History, RunRecord

QUANTILE = 0.9  # of such jobs run no longer: a reservation behind one is kept nine times in ten
LEARNT_AT_FIRST = 5_000  # jobs
LEARNS_EVERY = timedelta(seconds=20)
OVERLAP = timedelta(minutes=1)  # transactions that were open at the last look


class Predictor:
    """The history of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Learn everything anew the next time."""
        self._history = History()
        self._looked_at: datetime | None = None
        self._known: dict[str, datetime] = {}

    def predict(self, features: Features, *, now: datetime) -> int | None:
        """Milliseconds that nine of ten such jobs do not exceed; None where too few are known."""
        with self._lock:
            if self._looked_at is None or now - self._looked_at >= LEARNS_EVERY:
                self._learn(now)
            prediction = self._history.predict(features, QUANTILE)
        return prediction.ms if prediction.basis not in (Grounds.LIMIT, Grounds.NONE) else None

    def _learn(self, now: datetime) -> None:
        jobs = Job.objects.filter(state=State.SUCCEEDED, cause=Cause.COMPLETED)
        if self._looked_at is not None:
            jobs = jobs.filter(finished_at__gte=self._looked_at - OVERLAP)
        for row in reversed(jobs.order_by("-finished_at").values(*_COLUMNS, ran=_RAN)[:LEARNT_AT_FIRST]):
            if row["ran"] is not None and str(row["id"]) not in self._known:
                runtime_ms = max(1, row["ran"] // timedelta(milliseconds=1))
                self._history.add(RunRecord(features=_features_of(row), runtime_ms=runtime_ms))
            self._known[str(row["id"])] = row["finished_at"]
        self._looked_at = now
        recent = {key: at for key, at in self._known.items() if at >= now - 2 * OVERLAP - LEARNS_EVERY}
        self._known = recent


_RAN = Sum(F("attempts__ended_at") - F("attempts__running_at"))
_COLUMNS = (
    *("id", "finished_at", "owner__username", "queue__path", "num_workers", "accelerators_milli"),
    *("spec__run", "spec__recipe", "spec__params"),
)

PREDICTOR = Predictor()


def features_of(spec: JobSpec, *, user: str, queue: str) -> Features:
    """What is known of a job before it runs."""
    return Features(
        user=user,
        queue=queue,
        num_devices=_devices(spec.workers.want, spec.resources.accelerators_milli),
        likeness=_likeness(spec.command, spec.recipe, spec.params),
    )


def _features_of(row: Mapping[str, Any]) -> Features:
    return Features(
        user=row["owner__username"],
        queue=row["queue__path"],
        num_devices=_devices(row["num_workers"], row["accelerators_milli"]),
        likeness=_likeness(row["spec__run"], row["spec__recipe"], row["spec__params"] or {}),
    )


def _devices(num_workers: int, accelerators_milli: int) -> int:
    return max(1, -(-num_workers * accelerators_milli // 1000))


def _likeness(command: str | None, recipe: str | None, params: Mapping[str, Any]) -> str:
    """Equal for jobs that run the same thing: a command's line, a recipe with its parameters."""
    text = json.dumps([command, recipe, dict(params) if recipe else None], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
