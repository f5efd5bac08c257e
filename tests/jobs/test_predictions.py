"""Run times learnt from jobs that ended by themselves, and kept with those that wait."""

from typing import Any

from jobs.live import LIVE
from jobs.services.predictions import PREDICTOR
from ray_runtime.protocol import EndCause, ReportKind
from tests.jobs.builders import World, at, fresh


def ran(
    world: World, seconds: float, *, begin: float, cause: EndCause = EndCause.COMPLETED, **changes: Any
) -> None:
    """A job that ran for so long."""
    job = world.submit(now=at(begin), **changes)
    attempt = world.place(job, now=at(begin))
    world.report(attempt, ReportKind.RUNNING, now=at(begin))
    world.end(attempt, cause, now=at(begin + seconds))


def test_a_job_is_expected_to_run_as_long_as_such_jobs_did(world: World) -> None:
    """Nine in ten of them; the engine gets it with the job."""
    assert world.submit().predicted_ms is None
    for number in range(8):
        ran(world, 100, begin=number * 200, run="python train.py")
    job = world.submit(run="python train.py", now=at(2000))
    assert job.predicted_ms is not None
    assert 90_000 <= job.predicted_ms <= 130_000
    row = next(row for row in LIVE.read(now=at(2001)).snapshot.jobs if row.id == str(job.id))
    assert row.predicted_ms == fresh(job).predicted_ms


def test_jobs_that_failed_or_were_stopped_teach_nothing(world: World) -> None:
    """How long they would have run is not known."""
    for number in range(8):
        ran(world, 100, begin=number * 200, cause=EndCause.PROGRAM_FAILED)
    assert world.submit(now=at(2000)).predicted_ms is None


def test_each_end_is_learnt_once(world: World) -> None:
    """Looks overlap, so that no transaction that was open at the last look is missed."""
    for number in range(8):
        ran(world, 100, begin=number * 10)
    first = world.submit(now=at(200)).predicted_ms
    again = [world.submit(now=at(200 + 21 * look)).predicted_ms for look in range(1, 5)]
    assert again == [first] * 4
    PREDICTOR.forget()
    assert world.submit(now=at(400)).predicted_ms == first
