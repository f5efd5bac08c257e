"""Whatever happens to jobs in whatever order: ledger, devices and log agree afterwards."""

from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from eventlog.models import Event
from jobs.fold import fold
from jobs.lifecycle import PLACED
from jobs.models import Attempt, Job
from jobs.services.stop import cancel_job, hold_job, release_job
from jobs.services.tick import run_tick
from quotas.models import Queue
from ray_runtime.protocol import EndCause, ReportKind
from refusals import Refusal
from tests.jobs.builders import World, at, make_world

LIMIT_MILLI = 6000


class _UndoneError(Exception):
    """Takes the example's rows back."""


class JobsAtRandom(RuleBasedStateMachine):
    """People, engine and cluster act as they please on a few jobs in a queue with a limit."""

    world: World

    def __init__(self) -> None:
        super().__init__()
        self._transaction = transaction.atomic()
        self._transaction.__enter__()
        self.second = 0

    def teardown(self) -> None:
        """Roll everything back."""
        self._transaction.__exit__(_UndoneError, _UndoneError(), None)

    @initialize()
    def begin(self) -> None:
        """A fresh world."""
        self.world = make_world()
        Queue.objects.filter(path="a").update(limit_milli=LIMIT_MILLI)

    @rule(
        accelerators=st.sampled_from([0, 0.5, 1, 2, 4]),
        priority=st.sampled_from(["low", "normal", "urgent"]),
        retries=st.integers(0, 1),
        max_runtime=st.sampled_from([None, "3s"]),
    )
    def submit(self, accelerators: float, priority: str, retries: int, max_runtime: str | None) -> None:
        """A user submits."""
        if Job.objects.count() < 6:
            limits = {"retries": retries, "node_retries": retries, "max_runtime": max_runtime}
            self.world.submit(
                resources={"accelerators": accelerators}, priority=priority, limits=limits, now=self._now()
            )

    @rule()
    def tick(self) -> None:
        """The scheduler's round."""
        self.world.hear(now=self._now())
        run_tick(now=self._now())

    @rule(data=st.data(), act=st.sampled_from([cancel_job, hold_job, release_job]))
    @precondition(lambda self: hasattr(self, "world") and Job.objects.exists())
    def act(self, data: st.DataObject, act: Any) -> None:
        """Somebody acts on a job."""
        job = self._one_of(data, Job.objects.order_by("submitted_at", "id"))
        try:
            act(user=self.world.cast.owner, job_id=job.id, now=self._now())
        except Refusal:
            return

    @rule(
        data=st.data(),
        kind=st.sampled_from([*ReportKind, ReportKind.ENDED]),
        cause=st.sampled_from(EndCause),
        finished=st.booleans(),
    )
    @precondition(lambda self: hasattr(self, "world") and Attempt.objects.exists())
    def report(self, data: st.DataObject, kind: ReportKind, cause: EndCause, finished: bool) -> None:
        """The cluster reports of any attempt, old ones too."""
        attempt = self._one_of(data, Attempt.objects.order_by("ordered_at", "id"))
        told: dict[str, Any] = {"cause": cause, "finished": finished} if kind is ReportKind.ENDED else {}
        self.world.report(attempt, kind, now=self._now(), **told)

    @invariant()
    def the_ledger_is_the_sum_of_what_is_held(self) -> None:
        """Never negative, never above the limit, and equal to what placed jobs asked for."""
        if not hasattr(self, "world"):
            return
        held = sum(job.num_workers * job.accelerators_milli for job in Job.objects.filter(state__in=PLACED))
        assert Queue.objects.get(path="a").used_milli == held <= LIMIT_MILLI

    @invariant()
    def no_device_is_held_twice(self) -> None:
        """Parts of one device add up to one at most."""
        if not hasattr(self, "world"):
            return
        shares: dict[tuple[str, int], int] = {}
        for attempt in Attempt.objects.filter(ended_at__isnull=True).select_related("job"):
            for slot in attempt.placement:
                for device in slot["devices"]:
                    key = (slot["node"], device)
                    shares[key] = shares.get(key, 0) + min(1000, attempt.job.accelerators_milli)
        assert all(share <= 1000 for share in shares.values())

    @invariant()
    def the_log_explains_every_job(self) -> None:
        """And the database's own rules hold."""
        if not hasattr(self, "world"):
            return
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
        for job in Job.objects.all():
            standing = fold(Event.objects.filter(job_id=job.id).order_by("seq"))
            assert (standing.state, standing.intent, standing.version) == (job.state, job.intent, job.version)
            assert standing.event_seq == job.event_seq
            assert (standing.retries_used, standing.node_retries_used) == (
                job.retries_used,
                job.node_retries_used,
            )

    def _now(self) -> Any:
        self.second += 1
        return at(self.second)

    @staticmethod
    def _one_of(data: st.DataObject, rows: Any) -> Any:
        return rows[data.draw(st.integers(0, rows.count() - 1))]


@pytest.mark.django_db
def test_ledger_devices_and_log_agree_after_anything() -> None:
    """Random lives of several jobs at once."""
    run_state_machine_as_test(
        JobsAtRandom,
        settings=settings(
            max_examples=10,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
