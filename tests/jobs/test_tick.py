"""One round of the scheduler: what is decided is carried out, for the version it was decided on."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from artifacts.models import Checkpoint
from eventlog.models import Command, Event
from jobs.live import LIVE
from jobs.models import Attempt, Job
from jobs.services.apply_plan import apply_plan
from jobs.services.change import change_priority
from jobs.services.stop import cancel_job, hold_job
from jobs.services.submit import submit_job
from jobs.services.tick import run_tick, stop_overdue
from ray_runtime.protocol import EndCause, ReportKind
from scheduling.model import (
    Evict,
    EvictionKind,
    Help,
    JobId,
    Keep,
    NodeName,
    Plan,
    Reason,
    ReasonCode,
    Start,
    Worker,
)
from tests.jobs.builders import World, at, document, fresh, used_milli

FOUR = (0, 1, 2, 3)


def start(job: Job, node: str = "n1") -> Start:
    """A decision of the engine."""
    placement = (Worker(node=NodeName(node), devices=FOUR),)
    return Start(job=JobId(str(job.id)), placement=placement, accelerator_type="slot")


def test_a_waiting_job_is_started_on_free_devices(world: World) -> None:
    """One round, one attempt, one order."""
    job = world.submit()
    ran = run_tick(now=at(1))
    assert (ran.ran, ran.applied.num_started, ran.applied.num_dropped) == (True, 1, 0)
    attempt = Attempt.objects.get(job=job)
    assert (fresh(job).state, attempt.accelerator_type, used_milli()) == ("starting", "slot", 4000)
    assert Command.objects.filter(kind="launch").count() == 1
    assert run_tick(now=at(2)).applied.num_started == 0


def test_a_gang_gets_all_its_workers_or_none(world: World) -> None:
    """Two nodes for two workers; a third worker's job waits and says why."""
    pair = world.submit(workers=2)
    run_tick(now=at(1))
    assert {slot["node"] for slot in Attempt.objects.get(job=pair).placement} == {"n1", "n2"}
    triple = world.submit(workers=3)
    run_tick(now=at(2))
    waiting = fresh(triple)
    assert (waiting.state, waiting.num_attempts) == ("queued", 0)
    assert waiting.reason is not None
    assert waiting.reason["code"] == "never_fits"


def test_an_urgent_job_preempts_and_starts_when_the_devices_are_free(world: World) -> None:
    """The victim is told for whom; nothing is started on its devices before it is gone."""
    victims = [world.submit(priority="low") for _job in range(2)]
    run_tick(now=at(1))
    attempts = [Attempt.objects.get(job=victim) for victim in victims]
    for attempt in attempts:
        world.report(attempt, ReportKind.RUNNING, now=at(2))
    urgent = world.submit(priority="urgent", now=at(3))
    assert run_tick(now=at(4)).applied.num_evicted == 1
    victim = next(fresh(job) for job in victims if fresh(job).state == "stopping")
    assert (victim.intent, victim.cause) == ("preempt", "preempted")
    told = Event.objects.get(job_id=victim.id, kind="stop_ordered")
    assert told.data["beneficiary"] == str(urgent.id)
    waiting = fresh(urgent)
    assert waiting.reason is not None
    assert (waiting.state, waiting.reason["code"]) == ("queued", "waits_victims")
    assert waiting.kept
    assert run_tick(now=at(5)).applied.num_started == 0
    world.end(Attempt.objects.get(job=victim), EndCause.STOPPED, now=at(6))
    assert run_tick(now=at(7)).applied.num_started == 1
    assert (fresh(urgent).state, fresh(urgent).kept, fresh(victim).state) == ("starting", [], "queued")


def test_a_queue_takes_back_what_is_guaranteed_to_it(world: World) -> None:
    """Team A borrowed all; team B's job reclaims its own share."""
    borrower = world.submit(workers=2)
    run_tick(now=at(1))
    world.report(Attempt.objects.get(job=borrower), ReportKind.RUNNING, now=at(2))
    submit_job(user=world.cast.outsider, document=document(queue="b"), code=None, now=at(3))
    assert run_tick(now=at(4)).applied.num_evicted == 1
    assert fresh(borrower).cause == "reclaimed"


def test_reasons_are_written_only_when_they_change(world: World) -> None:
    """A second round over the same rows writes none."""
    world.running()
    world.running(node="n2")
    for _job in range(3):
        world.submit()
    assert run_tick(now=at(1)).applied.num_reasons == 3
    assert run_tick(now=at(2)).applied.num_reasons == 0


def test_a_job_that_starts_has_no_reason_to_wait(world: World) -> None:
    """What was written while it waited is gone."""
    _job, attempt = world.running()
    _other, second = world.running(node="n2")
    job = world.submit()
    run_tick(now=at(1))
    assert fresh(job).reason is not None
    world.end(attempt)
    world.end(second)
    run_tick(now=at(2))
    assert (fresh(job).state, fresh(job).reason) == ("starting", None)


def test_a_burst_of_starts_costs_a_few_statements(world: World) -> None:
    """As many for twenty jobs as for two; one that lost its race does not hold up the others."""

    def statements(jobs: int, second: int) -> int:
        made = [world.submit(resources={"accelerators": 0}, now=at(second)) for _job in range(jobs)]
        reading = LIVE.read(now=at(second))
        cancel_job(user=world.cast.owner, job_id=made[0].id, now=at(second))
        starts = tuple(
            Start(
                job=JobId(str(job.id)),
                placement=(Worker(node=NodeName("n1"), devices=()),),
                accelerator_type="slot",
            )
            for job in made
        )
        with CaptureQueriesContext(connection) as caught:
            applied = apply_plan(Plan(starts=starts), reading, now=at(second))
        assert (applied.num_started, applied.num_dropped) == (jobs - 1, 1)
        assert all(fresh(job).num_attempts == 1 for job in made[1:])
        return len(caught)

    assert statements(21, 1) == statements(3, 2)


@pytest.mark.parametrize("change", ["cancel", "hold", "priority"])
def test_a_start_that_lost_its_race_is_dropped_and_recorded(world: World, change: str) -> None:
    """The job changed between the snapshot and the decision's turn."""
    job = world.submit()
    reading = LIVE.read(now=at(1))
    match change:
        case "cancel":
            cancel_job(user=world.cast.owner, job_id=job.id, now=at(1))
        case "hold":
            hold_job(user=world.cast.owner, job_id=job.id, now=at(1))
        case "priority":
            change_priority(user=world.cast.owner, job_id=job.id, priority=100, now=at(1))
    before = fresh(job).state
    applied = apply_plan(Plan(starts=(start(job),)), reading, now=at(2))
    assert (applied.num_started, applied.num_dropped, fresh(job).state) == (0, 1, before)
    assert Event.objects.get(job_id=job.id, kind="decision_dropped").data["why"] == "lost_race"
    assert used_milli() == 0
    assert not Command.objects.exists()


def test_the_same_dropped_decision_is_recorded_once(world: World) -> None:
    """A ledger that refuses each round must not fill the log."""
    world.queue_a.limit_milli = 1000
    world.queue_a.save()
    job = world.submit()
    for second in range(3):
        apply_plan(Plan(starts=(start(job),)), LIVE.read(now=at(second)), now=at(second))
    assert Event.objects.filter(job_id=job.id, kind="decision_dropped").count() == 1


def test_an_eviction_of_a_job_that_has_ended_is_dropped(world: World) -> None:
    """It finished meanwhile."""
    job, attempt = world.running()
    reading = LIVE.read(now=at(1))
    world.end(attempt)
    evict = Evict(job=JobId(str(job.id)), beneficiary=JobId("x"), kind=EvictionKind.PREEMPT)
    assert apply_plan(Plan(evictions=(evict,)), reading, now=at(2)).num_dropped == 1
    assert fresh(job).state == "succeeded"


def test_reasons_and_kept_devices_are_for_those_who_still_wait(world: World) -> None:
    """A job that was held since the snapshot gets none."""
    stays, leaves = world.submit(), world.submit()
    reading = LIVE.read(now=at(1))
    hold_job(user=world.cast.owner, job_id=leaves.id, now=at(1))
    reason = Reason(code=ReasonCode.NO_CAPACITY, params={"free_milli": 0}, help=Help.WAIT_FOR_DEVICES)
    ids = [JobId(str(job.id)) for job in (stays, leaves)]
    plan = Plan(
        keeps=tuple(Keep(job=job, placement=(Worker(node=NodeName("n1"), devices=(0,)),)) for job in ids),
        reasons=dict.fromkeys(ids, reason),
    )
    assert apply_plan(plan, reading, now=at(2)).num_reasons == 1
    assert fresh(stays).kept == [{"rank": 0, "node": "n1", "devices": [0]}]
    assert (fresh(leaves).kept, fresh(leaves).reason) == ([], None)


def test_kept_devices_come_back_in_the_next_snapshot(world: World) -> None:
    """The engine sees what it decided, and an empty plan lets go of it."""
    job = world.submit()
    placement = (Worker(node=NodeName("n1"), devices=FOUR),)
    keep = Plan(keeps=(Keep(job=JobId(str(job.id)), placement=placement),))
    apply_plan(keep, LIVE.read(now=at(1)), now=at(1))
    reading = LIVE.read(now=at(2))
    assert reading.snapshot.jobs[0].kept == placement
    apply_plan(Plan(), reading, now=at(2))
    assert fresh(job).kept == []


def test_a_job_whose_checkpoint_is_gone_fails_instead_of_starting_from_nothing(world: World) -> None:
    """It was asked to go on from there."""
    first, attempt = world.running()
    source = Checkpoint.objects.create(
        job_id=first.id, attempt_id=attempt.id, step=7, path="/c", size_bytes=1, state="whole", saved_at=at(0)
    )
    job = world.submit(checkpoint={"from": str(source.id)})
    Checkpoint.objects.update(state="deleted")
    run_tick(now=at(1))
    assert (fresh(job).state, fresh(job).cause, fresh(job).num_attempts) == ("failed", "start_failed", 0)


def test_a_job_over_its_time_is_told_to_leave_once(world: World) -> None:
    """With the intent to fail; jobs without a limit, or not yet running, are left alone."""
    over, _attempt = world.running(limits={"max_runtime": "10s"})
    world.place(world.submit(limits={"max_runtime": "10s"}))
    world.running()
    assert stop_overdue(now=at(9.9)) == 0
    assert stop_overdue(now=at(10)) == 1
    assert stop_overdue(now=at(11)) == 0
    assert (fresh(over).state, fresh(over).intent, fresh(over).cause) == ("stopping", "fail", "time_limit")


def test_the_time_limit_is_of_one_attempt(world: World) -> None:
    """A preempted job that comes back has its whole time again."""
    job, attempt = world.running(limits={"max_runtime": "10s", "node_retries": 3})
    world.end(attempt, EndCause.NODE_LOST, node="n1", now=at(8))
    world.report(world.place(job, now=at(20)), ReportKind.RUNNING, now=at(20))
    assert stop_overdue(now=at(29)) == 0
    assert stop_overdue(now=at(30)) == 1


def test_a_round_leaves_no_lock_behind(world: World) -> None:
    """Also when it fails."""
    run_tick(now=at(1))
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
        assert cursor.fetchone() == (0,)


def test_nodes_that_are_unreachable_or_cordoned_get_nothing(world: World) -> None:
    """The job waits until one can be used."""
    world.hear(alive=False)
    job = world.submit()
    run_tick(now=at(1))
    assert fresh(job).state == "queued"
    world.hear(now=at(2))
    run_tick(now=at(2))
    assert fresh(job).state == "starting"
