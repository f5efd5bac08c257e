"""Folding a job's events gives its row."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from eventlog.selectors import events_of
from jobs.fold import fold
from jobs.models import Attempt, Job
from jobs.services.change import change_priority
from jobs.services.stop import cancel_job, delete_job, hold_job, release_job
from jobs.services.tick import stop_overdue
from ray_runtime.protocol import EndCause, ReportKind
from tests.jobs.builders import World, at, fresh


def assert_folds(job: Job) -> None:
    """Every column that the log determines is as the row has it."""
    row = fresh(job)
    folded = asdict(fold(events_of(job.id)))
    assert folded == {name: getattr(row, name) for name in folded}


def _waits(world: World) -> Job:
    return world.submit()


def _runs(world: World) -> Job:
    return world.running()[0]


def _succeeds(world: World) -> Job:
    job, attempt = world.running()
    world.end(attempt, now=at(9))
    return job


def _is_repeated_and_fails(world: World) -> Job:
    job, attempt = world.running(limits={"retries": 1})
    world.end(attempt, EndCause.PROGRAM_FAILED, exit_code=3, rank=0, node="n1", now=at(2))
    second = world.place(job, now=at(4))
    world.end(second, EndCause.PROGRAM_FAILED, exit_code=3, now=at(6))
    return job


def _loses_its_node(world: World) -> Job:
    job, attempt = world.running()
    world.end(attempt, EndCause.NODE_LOST, node="n1", now=at(2))
    return job


def _is_held_released_and_cancelled(world: World) -> Job:
    job, attempt = world.running()
    hold_job(user=world.cast.owner, job_id=job.id, now=at(1))
    world.end(attempt, EndCause.STOPPED, now=at(2))
    release_job(user=world.cast.team_admin, job_id=job.id, now=at(3))
    cancel_job(user=world.cast.owner, job_id=job.id, now=at(4))
    return job


def _is_over_its_time(world: World) -> Job:
    job, attempt = world.running(limits={"max_runtime": "10s"})
    assert stop_overdue(now=at(11)) == 1
    world.end(attempt, EndCause.STOPPED, now=at(12))
    return job


def _is_changed_and_deleted(world: World) -> Job:
    job = _waits(world)
    change_priority(user=world.cast.owner, job_id=job.id, priority=300, now=at(1))
    cancel_job(user=world.cast.owner, job_id=job.id, now=at(2))
    delete_job(user=world.cast.owner, job_id=job.id, now=at(3))
    return job


def _tells_what_is_no_state(world: World) -> Job:
    job = world.submit()
    attempt: Attempt = world.place(job)
    world.report(attempt, ReportKind.FORMING, now=at(1))
    world.report(attempt, ReportKind.RUNNING, now=at(2))
    world.report(attempt, ReportKind.STOPPING, now=at(3))
    return job


LIVES: list[Callable[[World], Job]] = [
    _waits,
    _runs,
    _succeeds,
    _is_repeated_and_fails,
    _loses_its_node,
    _is_held_released_and_cancelled,
    _is_over_its_time,
    _is_changed_and_deleted,
    _tells_what_is_no_state,
]


@pytest.mark.parametrize("live", LIVES, ids=lambda live: live.__name__.strip("_"))
def test_the_log_alone_says_where_the_job_stands(world: World, live: Callable[[World], Job]) -> None:
    """Whatever its life was."""
    assert_folds(live(world))


def test_numbers_of_events_have_no_gap(world: World) -> None:
    """Readers that follow a job see at once if they missed one."""
    job = _is_held_released_and_cancelled(world)
    numbers: list[Any] = list(events_of(job.id).values_list("seq", flat=True))
    assert numbers == list(range(1, fresh(job).event_seq + 1))
