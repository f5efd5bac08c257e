"""The live snapshot reads what changed and nothing else, and is at any time what a full reading gives."""

import random
import threading
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from django.db import connections, transaction

from jobs.live import LIVE, VERIFIED_EVERY, LiveSnapshot
from jobs.models import Job
from jobs.services.change import change_priority
from jobs.services.stop import cancel_job, hold_job, release_job
from jobs.services.tick import run_tick
from jobs.snapshot import in_one_piece, milliseconds
from quotas.models import Queue
from ray_runtime.protocol import EndCause, ReportKind
from scheduling import model
from scheduling.model import JobId, NodeName, QueuePath, ReasonCode, Worker
from tests.jobs.builders import World, at, fresh


def assert_whole(live: LiveSnapshot, *, now: datetime) -> None:
    """What was kept up to date is what a new process would read."""
    assert live.read(now=now) == LiveSnapshot().read(now=now)


def key(job: Job) -> JobId:
    """The engine's name of a job."""
    return JobId(str(job.id))


def test_only_what_changed_is_read_again(committed_world: World) -> None:
    """One change among many jobs is one row; nothing new is none."""
    world, live = committed_world, LiveSnapshot()
    jobs = [world.submit() for _job in range(20)]
    live.read(now=at(0))
    assert live.num_read == 20
    before = live.read(now=at(1)).snapshot
    assert (live.num_read, live.read(now=at(1)).snapshot is before) == (0, True)
    change_priority(user=world.cast.owner, job_id=jobs[3].id, priority=100, now=at(2))
    reading = live.read(now=at(2))
    assert live.num_read == 1
    assert {job.priority for job in reading.snapshot.jobs if job.id == key(jobs[3])} == {100}
    assert_whole(live, now=at(2))


def test_what_the_engine_itself_tells_is_no_change(committed_world: World) -> None:
    """Reasons and expected starts of all who wait are written without being read again."""
    committed_world.running()
    committed_world.running(node="n2")
    for _job in range(5):
        committed_world.submit()
    assert run_tick(now=at(1)).applied.num_reasons == 5
    LIVE.read(now=at(2))
    LIVE.read(now=at(2))
    assert LIVE.num_read == 0


def test_random_days_leave_it_equal_to_a_full_reading(world: World) -> None:
    """Submissions, holds, releases, cancels, starts, ends, failures with backoff, quotas, nodes."""
    rng, live = random.Random(7), LiveSnapshot()
    for step in range(60):
        now = at(step)
        jobs = list(Job.objects.filter(finished_at__isnull=True))
        chosen: Any = rng.choice(jobs) if jobs else world.submit(now=now)
        _act(world, rng.randrange(9), chosen, rng, now)
        assert_whole(live, now=now)


def _act(world: World, kind: int, job: Job, rng: random.Random, now: datetime) -> None:
    owner, live = world.cast.owner, job.attempts.filter(ended_at__isnull=True).first()
    match kind:
        case 0 | 1:
            world.submit(
                now=now, limits={"retries": 3}, depends_on=[str(job.id)] if rng.random() < 0.3 else None
            )
        case 2 if job.state == "queued":
            hold_job(user=owner, job_id=job.id, now=now)
        case 3 if job.state == "held":
            release_job(user=owner, job_id=job.id, now=now)
        case 4:
            cancel_job(user=owner, job_id=job.id, now=now)
        case 5 if live:
            world.end(live, rng.choice([EndCause.COMPLETED, EndCause.PROGRAM_FAILED]), now=now)
        case 6:
            Queue.objects.filter(path="a").update(guarantee_milli=rng.choice([0, 4000]))
        case 7:
            world.hear(now=now, alive=rng.random() < 0.7)
        case _:
            run_tick(now=now)


def test_a_job_in_its_backoff_is_hidden_until_it_is_over(world: World) -> None:
    """Nothing in the database changes at that moment."""
    job, attempt = world.running(limits={"retries": 1})
    live = LiveSnapshot()
    world.end(attempt, EndCause.PROGRAM_FAILED, now=at(1), exit_code=1)
    assert live.read(now=at(1.5)).snapshot.jobs == ()
    assert [row.id for row in live.read(now=at(2)).snapshot.jobs] == [key(job)]


def test_a_transaction_that_commits_late_is_not_missed(committed_world: World) -> None:
    """Its number is older than what was read before it committed."""
    world, live = committed_world, LiveSnapshot()
    late, other = world.submit(), world.submit()
    written, may_commit = threading.Event(), threading.Event()

    def change_slowly() -> None:
        with transaction.atomic():
            change_priority(user=world.cast.owner, job_id=late.id, priority=100, now=at(1))
            written.set()
            may_commit.wait(timeout=20)
        connections.close_all()

    slow = threading.Thread(target=change_slowly)
    slow.start()
    written.wait(timeout=20)
    change_priority(user=world.cast.owner, job_id=other.id, priority=50, now=at(2))
    seen = {row.id: row.priority for row in live.read(now=at(3)).snapshot.jobs}
    assert (seen[key(late)], seen[key(other)]) == (200, 50)
    may_commit.set()
    slow.join(timeout=20)
    seen = {row.id: row.priority for row in live.read(now=at(4)).snapshot.jobs}
    assert seen[key(late)] == 100


def test_a_row_that_vanished_is_found_by_the_count(
    committed_world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody deletes jobs; if somebody does by hand, the next comparison reads everything anew."""
    live, job = LiveSnapshot(), committed_world.submit()
    live.read(now=at(0))
    Job.objects.filter(id=job.id).delete()
    for _reading in range(VERIFIED_EVERY):
        reading = live.read(now=at(1))
    assert reading.snapshot.jobs == ()
    assert "missed a change" in caplog.text


def test_who_waits_for_a_held_job_waits_with_a_reason(world: World) -> None:
    """The engine sees neither; the reason is told all the same."""
    first = world.submit()
    second = world.submit(depends_on=[str(first.id)])
    hold_job(user=world.cast.owner, job_id=first.id, now=at(1))
    assert run_tick(now=at(2)).applied.num_started == 0
    reason = fresh(second).reason
    assert reason is not None
    assert (reason["code"], reason["params"]["job"]) == (ReasonCode.WAITS_JOB, str(first.id))
    release_job(user=world.cast.owner, job_id=first.id, now=at(3))
    run_tick(now=at(4))
    assert fresh(first).state == "starting"
    assert fresh(second).state == "queued"


def test_a_chain_behind_a_held_job_is_hidden_to_its_end(world: World) -> None:
    """Each is told whom it waits for; the engine starts none of them, and spends no device on them."""
    first = world.submit()
    second = world.submit(depends_on=[str(first.id)])
    third = world.submit(depends_on=[str(second.id)])
    hold_job(user=world.cast.owner, job_id=first.id, now=at(1))
    assert LIVE.read(now=at(2)).snapshot.jobs == ()
    applied = run_tick(now=at(2)).applied
    assert (applied.num_started, applied.num_dropped) == (0, 0)
    for job, other in ((second, first), (third, second)):
        reason = fresh(job).reason
        assert reason is not None
        assert (reason["code"], reason["params"]["job"]) == (ReasonCode.WAITS_JOB, str(other.id))
    release_job(user=world.cast.owner, job_id=first.id, now=at(3))
    assert len(LIVE.read(now=at(4)).snapshot.jobs) == 3


def test_a_row_that_is_read_anew_is_told_anew(world: World) -> None:
    """What the last plan wrote may be gone from it, though its version is the same."""
    for node in ("n1", "n2"):
        world.running(node=node)
    job = world.submit()
    run_tick(now=at(1))
    assert fresh(job).reason is not None
    Job.objects.filter(id=job.id).update(reason=None, priority=100)
    run_tick(now=at(2))
    assert fresh(job).reason is not None


def test_a_time_limit_counts_from_the_run_and_has_its_grace(world: World) -> None:
    """As it is enforced: an end is never believed too early."""
    job = world.submit(limits={"max_runtime": "100s", "grace": "20s"})
    attempt = world.place(job, now=at(10))
    (starting,) = LIVE.read(now=at(11)).snapshot.jobs
    assert starting.placed_at_ms == milliseconds(at(10))
    world.report(attempt, ReportKind.RUNNING, now=at(30))
    (running,) = LIVE.read(now=at(31)).snapshot.jobs
    assert (running.placed_at_ms, running.max_runtime_ms) == (milliseconds(at(30)), 120_000)


def test_a_running_gang_has_no_surplus_below_what_is_wanted(world: World) -> None:
    """A shrink costs the whole gang a restart; while it waits it may start with its least size."""
    job = world.submit(workers={"min": 1, "max": 3, "want": 2}, resources={"accelerators": 1})
    (waiting,) = LIVE.read(now=at(1)).snapshot.jobs
    assert waiting.min_workers == 1
    world.place(job, nodes=("n1", "n2"))
    (placed,) = LIVE.read(now=at(2)).snapshot.jobs
    assert (placed.min_workers, placed.num_workers, placed.max_workers) == (2, 2, 3)
    wants_less = replace(placed, min_workers=1, num_workers=1)
    assert in_one_piece(wants_less).min_workers == 1
    has_less = replace(placed, min_workers=1, placement=placed.placement[:1])
    assert (in_one_piece(has_less).min_workers, in_one_piece(has_less).num_workers) == (1, 2)
    rigid = replace(placed, min_workers=None)
    assert in_one_piece(rigid) is rigid


def test_a_size_between_two_steps_is_no_size_for_a_running_gang() -> None:
    """It goes down to the largest allowed one, and no further."""
    six = tuple(Worker(node=NodeName("n1"), devices=(device,)) for device in range(6))
    gang = model.Job(
        id=JobId("gang"), queue=QueuePath("a"), priority=1, submitted_at_ms=0, num_workers=5,
        accelerators_milli=1000, min_workers=2, step_workers=2, placement=six,
    )  # fmt: skip
    assert in_one_piece(gang).min_workers == 4


def test_an_attempt_leaves_the_service_that_it_had(world: World) -> None:
    """Four devices for ten seconds, in the engine's units."""
    job, attempt = world.running(limits={"retries": 1})
    world.report(attempt, ReportKind.RUNNING, now=at(1))
    world.end(attempt, EndCause.PROGRAM_FAILED, now=at(10), exit_code=1)
    row = next(row for row in LIVE.read(now=at(20)).snapshot.jobs if row.id == key(job))
    assert row.attained_milli_ms == 4000 * 10_000
