"""PC05 at the level of services: whatever ends a job, its devices go back once and can be had again."""

from collections.abc import Callable

import pytest

from eventlog.models import Command
from jobs.models import Job
from jobs.rendering import job_reason
from jobs.selectors import newest_attempts
from jobs.services.reconcile import reconcile
from jobs.services.stop import cancel_job, delete_job
from jobs.services.tick import run_tick, stop_overdue
from quotas.services import set_quota
from ray_runtime.protocol import EndCause, ReportKind
from tests.jobs.builders import World, at, fresh, used_milli


def _exit_0(world: World) -> Job:
    _job, attempt = world.running()
    return world.end(attempt)


def _exit_1(world: World) -> Job:
    _job, attempt = world.running()
    return world.end(attempt, EndCause.PROGRAM_FAILED, exit_code=1, rank=0, node="n1")


def _cancelled_while_waiting(world: World) -> Job:
    _holder, attempt = world.running()
    job = world.submit()
    cancel_job(user=world.cast.owner, job_id=job.id, now=at(1))
    world.end(attempt)
    return fresh(job)


def _cancelled_while_starting(world: World) -> Job:
    job = world.submit()
    attempt = world.place(job)
    cancel_job(user=world.cast.owner, job_id=job.id, now=at(0.1))
    return world.end(attempt, EndCause.STOPPED)


def _cancelled_while_running(world: World) -> Job:
    job, attempt = world.running()
    cancel_job(user=world.cast.owner, job_id=job.id, now=at(1))
    return world.end(attempt, EndCause.STOPPED, exit_code=-15)


def _over_its_time(world: World) -> Job:
    _job, attempt = world.running(limits={"max_runtime": "5s"})
    stop_overdue(now=at(6))
    return world.end(attempt, EndCause.STOPPED, exit_code=-9)


def _node_lost(world: World) -> Job:
    _job, attempt = world.running(limits={"node_retries": 0})
    return world.end(attempt, EndCause.NODE_LOST, node="n1")


def _cannot_start(world: World) -> Job:
    job = world.submit()
    attempt = world.place(job)
    world.report(attempt, ReportKind.FORMING)
    return world.end(attempt, EndCause.START_FAILED, message="no such file: train.py")


def _lost_without_trace(world: World) -> Job:
    _job, attempt = world.running(limits={"node_retries": 0})
    Command.objects.update(done_at=at(0))
    world.hear(now=at(20))
    reconcile(now=at(20))
    world.hear(now=at(31))
    reconcile(now=at(31))
    return Job.objects.get(id=attempt.job_id)


def _deleted_after_its_end(world: World) -> Job:
    job, attempt = world.running()
    world.end(attempt)
    delete_job(user=world.cast.owner, job_id=job.id, now=at(5))
    return fresh(job)


ENDINGS: list[tuple[Callable[[World], Job], str, str]] = [
    (_exit_0, "succeeded", "completed"),
    (_exit_1, "failed", "program_failed"),
    (_cancelled_while_waiting, "cancelled", "user_cancelled"),
    (_cancelled_while_starting, "cancelled", "user_cancelled"),
    (_cancelled_while_running, "cancelled", "user_cancelled"),
    (_over_its_time, "failed", "time_limit"),
    (_node_lost, "failed", "node_lost"),
    (_cannot_start, "failed", "start_failed"),
    (_lost_without_trace, "failed", "unknown"),
    (_deleted_after_its_end, "succeeded", "completed"),
]


@pytest.mark.parametrize(
    ("ending", "state", "cause"), ENDINGS, ids=[ending.__name__.strip("_") for ending, *_rest in ENDINGS]
)
def test_every_ending_gives_the_devices_back(
    world: World, ending: Callable[[World], Job], state: str, cause: str
) -> None:
    """The queue's use is 0, and a probe of the queue's whole limit starts at once."""
    world.queue_a.limit_milli = 4000
    world.queue_a.save()
    job = ending(world)
    assert (job.state, job.cause, job.finished_at is not None) == (state, cause, True)
    assert used_milli() == 0
    probe = world.submit(now=at(40))
    world.hear(now=at(41))
    run_tick(now=at(41))
    assert (fresh(probe).state, used_milli()) == ("starting", 4000)


def test_a_full_team_waits_with_the_quotas_numbers(world: World) -> None:
    """4 of 4, although four devices are free."""
    world.queue_a.limit_milli = 4000
    world.queue_a.save()
    world.running()
    waiting = world.submit()
    run_tick(now=at(1))
    reason = fresh(waiting).reason
    assert reason is not None
    assert (reason["code"], reason["params"]["queue"]) == ("limit_now", "a")
    assert (reason["params"]["used_milli"], reason["params"]["limit_milli"]) == (4000, 4000)


def test_a_lowered_quota_kills_nothing_and_admits_nothing(world: World) -> None:
    """4 of 2: the running job goes on, the next one starts when the use is below the limit."""
    running, attempt = world.running()
    set_quota(
        user=world.cast.platform_admin,
        path="a",
        guarantee_milli=2000,
        limit_milli=2000,
        weight=1,
        now=at(1),
    )
    waiting = world.submit(resources={"accelerators": 2})
    run_tick(now=at(2))
    assert (fresh(running).state, fresh(waiting).state, used_milli()) == ("running", "queued", 4000)
    world.end(attempt, now=at(3))
    run_tick(now=at(4))
    assert (fresh(waiting).state, used_milli()) == ("starting", 2000)


def test_a_lost_node_is_named_and_its_exit_is_not_invented(world: World) -> None:
    """PC01: the reason says which node, and claims no exit code."""
    job = _node_lost(world)
    reason = job_reason(job, newest_attempts([job])[job.id], now=at(9))
    assert reason is not None
    assert (reason["code"], reason["text"]) == ("node_lost", "Node n1 was lost.")
    assert "exit_code" not in reason["params"]


def test_a_lost_node_costs_a_node_retry_and_a_short_wait(world: World) -> None:
    """Not one of the user's retries; the wait doubles."""
    job, attempt = world.running(limits={"retries": 0, "node_retries": 5})
    for failures, seconds in ((1, 1), (2, 2), (3, 4)):
        again = world.end(attempt, EndCause.NODE_LOST, node="n1", now=at(0))
        assert (again.state, again.node_retries_used, again.retries_used) == ("queued", failures, 0)
        assert again.not_before == at(seconds)
        attempt = world.place(job)
