"""Several sessions at once on real PostgreSQL: one wins, the others are told, and the ledger agrees."""

import threading
from collections.abc import Callable, Iterable

from django.db import connection, connections, transaction

from eventlog.models import Command, Event
from jobs.errors import WrongState
from jobs.fold import fold
from jobs.lifecycle import PLACED, Cause, Trigger
from jobs.models import Attempt, Job
from jobs.services.attempts import open_attempt
from jobs.services.exclusive import TICK
from jobs.services.ingest import ingest_reports
from jobs.services.stop import cancel_job, hold_job
from jobs.services.tick import run_tick
from jobs.services.transition import Step, lock_job
from jobs.services.transition import transition as move
from quotas.errors import LimitReached
from ray_runtime.protocol import EndCause, Report, ReportKind
from refusals import Refusal
from scheduling.model import NodeName, Worker
from tests.jobs.builders import INCARNATION, World, at, fresh, used_milli

ROUNDS = 8


def at_once(*acts: Callable[[], object]) -> list[object]:
    """Run them in sessions of their own, all released at one moment; what each returned or refused with."""
    barrier = threading.Barrier(len(acts))
    results: list[object] = [None] * len(acts)

    def run(index: int, act: Callable[[], object]) -> None:
        try:
            barrier.wait(timeout=20)
            results[index] = act()
        except Refusal as refusal:
            results[index] = refusal
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(index, act)) for index, act in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    return results


def assert_consistent(jobs: Iterable[Job]) -> None:
    """Attempts, ledger and log agree with each job's state."""
    held = 0
    for job in map(fresh, jobs):
        live = Attempt.objects.filter(job=job, ended_at__isnull=True).count()
        assert live == (job.state in PLACED)
        held += live * job.num_workers * job.accelerators_milli
        standing = fold(Event.objects.filter(job_id=job.id).order_by("seq"))
        assert (standing.state, standing.version, standing.event_seq) == (
            job.state,
            job.version,
            job.event_seq,
        )
    assert used_milli() == held


def place(job: Job, *, version: int | None = None) -> Job:
    """As the engine's decision does it."""
    effect = open_attempt((Worker(node=NodeName("n1"), devices=(0, 1, 2, 3)),), accelerator_type="slot")
    step = Step(trigger=Trigger.PLACE, cause=Cause.PLACED, expected_version=version, effect=effect)
    return move(job.id, step=step, now=at(1))


def test_a_cancel_and_a_start_at_once(committed_world: World) -> None:
    """Either it never starts, or it is started and told to stop: never something between."""
    world = committed_world
    for _round in range(ROUNDS):
        job = world.submit()
        at_once(
            lambda job=job: place(job, version=1),  # type: ignore[misc]  # bound per round
            lambda job=job: cancel_job(user=world.cast.owner, job_id=job.id, now=at(1)),  # type: ignore[misc]
        )
        after = fresh(job)
        assert after.state in ("cancelled", "stopping")
        assert_consistent(Job.objects.all())
        if after.state == "stopping":
            world.end(Attempt.objects.get(job=job), EndCause.STOPPED)


def test_an_end_and_a_cancel_at_once(committed_world: World) -> None:
    """The job ends once, the devices go back once."""
    world = committed_world
    for _round in range(ROUNDS):
        job, attempt = world.running()
        at_once(
            lambda attempt=attempt: world.end(attempt),  # type: ignore[misc]  # bound per round
            lambda job=job: cancel_job(user=world.cast.owner, job_id=job.id, now=at(1)),  # type: ignore[misc]
        )
        assert fresh(job).state in ("succeeded", "cancelled")
        assert_consistent(Job.objects.all())


def test_one_of_many_equal_wishes_wins(committed_world: World) -> None:
    """The others find that it is already so."""
    world = committed_world
    job = world.submit()
    outcomes = at_once(*[lambda: hold_job(user=world.cast.owner, job_id=job.id, now=at(1))] * 6)
    assert sorted(outcome.changed for outcome in outcomes) == [False] * 5 + [True]  # type: ignore[attr-defined]
    assert fresh(job).version == 2


def test_two_steps_for_the_same_version(committed_world: World) -> None:
    """One is carried out, the other lost its race."""
    job = committed_world.submit()
    results = at_once(lambda: place(job, version=1), lambda: place(job, version=1))
    assert sorted(type(result).__name__ for result in results) == ["Job", "LostRace"]
    assert Command.objects.count() == 1
    assert_consistent([job])


def test_starts_at_once_never_pass_the_queues_limit(committed_world: World) -> None:
    """The chain of queues is locked: one holds, the others are refused by the ledger."""
    world = committed_world
    world.queue_a.limit_milli = 4000
    world.queue_a.save()
    jobs = [world.submit() for _job in range(4)]
    results = at_once(*[lambda job=job: place(job) for job in jobs])
    assert sum(isinstance(result, LimitReached) for result in results) == 3
    assert used_milli() == 4000
    assert_consistent(jobs)


def test_the_same_reports_at_once_count_once(committed_world: World) -> None:
    """The conductor asked again before the first answer came."""
    world = committed_world
    job, attempt = world.running(limits={"retries": 9})
    ended = [
        Report(
            seq=2,
            kind=ReportKind.ENDED,
            job_id=str(job.id),
            attempt_id=str(attempt.id),
            at_ms=0,
            cause=EndCause.PROGRAM_FAILED,
            exit_code=1,
        )
    ]

    def ingest() -> int:
        return ingest_reports(epoch=world.epoch, incarnation=INCARNATION, reports=ended, now=at(1))

    assert at_once(*[ingest] * 5) == [2] * 5
    assert (fresh(job).state, fresh(job).retries_used) == ("queued", 1)
    assert_consistent([job])


def test_only_one_round_is_at_work(committed_world: World) -> None:
    """The second finds the lock taken and leaves; the lock goes with the session of a round that died."""
    job = committed_world.submit()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [TICK])
    (other,) = at_once(lambda: run_tick(now=at(1)).ran)
    assert other is False
    assert fresh(job).state == "queued"
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock(%s)", [TICK])
    assert run_tick(now=at(2)).applied.num_started == 1


def test_rounds_at_once_start_each_job_once(committed_world: World) -> None:
    """Whoever comes second has nothing left to do."""
    world = committed_world
    jobs = [world.submit(resources={"accelerators": 1}) for _job in range(8)]
    at_once(*[lambda: run_tick(now=at(1))] * 3)
    run_tick(now=at(2))
    assert Command.objects.filter(kind="launch").count() == Attempt.objects.count() == 8
    taken = [
        (slot["node"], device)
        for placement in Attempt.objects.values_list("placement", flat=True)
        for slot in placement
        for device in slot["devices"]
    ]
    assert len(taken) == len(set(taken)) == 8
    assert_consistent(jobs)


def test_a_weaker_stop_that_comes_second_is_refused(committed_world: World) -> None:
    """Hold and cancel at once: whatever the order, it ends in a cancel."""
    world = committed_world
    for _round in range(ROUNDS):
        job, attempt = world.running()
        results = at_once(
            lambda job=job: hold_job(user=world.cast.owner, job_id=job.id, now=at(1)),  # type: ignore[misc]
            lambda job=job: cancel_job(user=world.cast.owner, job_id=job.id, now=at(1)),  # type: ignore[misc]
        )
        assert all(not isinstance(result, Refusal) or isinstance(result, WrongState) for result in results)
        assert fresh(job).intent == "cancel"
        assert world.end(attempt, EndCause.STOPPED).state == "cancelled"
    assert_consistent(Job.objects.all())


def test_reasons_do_not_wait_for_a_locked_job(committed_world: World) -> None:
    """A round goes on while somebody holds a job's row; that job is explained in the next one."""
    world = committed_world
    world.running()
    world.running(node="n2")
    locked, free = world.submit(), world.submit()
    entered, leave = threading.Event(), threading.Event()

    def hold_the_row() -> None:
        with transaction.atomic():
            lock_job(locked.id)
            entered.set()
            leave.wait(timeout=20)
        connections.close_all()

    thread = threading.Thread(target=hold_the_row)
    thread.start()
    assert entered.wait(timeout=20)
    run_tick(now=at(1))
    assert (fresh(locked).reason, fresh(free).reason is not None) == (None, True)
    leave.set()
    thread.join(timeout=20)
    run_tick(now=at(2))
    assert fresh(locked).reason is not None
