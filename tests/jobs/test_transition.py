"""The one writer of states: what each edge does to job, attempt, ledger, log and outbox."""

import pytest
from django.db import IntegrityError, connection, transaction

from eventlog.models import Command, Event
from jobs.errors import LostRace, WrongState
from jobs.lifecycle import TABLE, Cause, State, Trigger
from jobs.models import Attempt, Job
from jobs.services.attempts import order_stop
from jobs.services.transition import EVENT_KINDS, Step, lock_job, transition, transition_many
from quotas.errors import LimitReached
from ray_runtime.protocol import EndCause, LaunchSpec, ReportKind, StopIntent, StopOrder, attempt_token
from refusals import NotFound
from tests.jobs.builders import World, at, fresh, used_milli


def check_deferred_rules() -> None:
    """What the database would say at the end of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")


def test_a_submitted_job_waits_with_one_event(world: World) -> None:
    """Nothing is held, nothing is ordered."""
    job = world.submit()
    assert (job.state, job.cause, job.version, job.event_seq) == ("queued", "submitted", 1, 1)
    event = Event.objects.get(job_id=job.id)
    assert (event.kind, event.actor_id, event.data["state"]) == ("submitted", world.cast.owner.pk, "queued")
    assert used_milli() == 0
    assert not Command.objects.exists()


def test_placing_holds_devices_and_orders_one_launch(world: World) -> None:
    """State, attempt, holding, event and order, all in one step."""
    job = world.submit(workers=2)
    attempt = world.place(job, nodes=("n1", "n2"))
    assert (fresh(job).state, attempt.number, used_milli()) == ("starting", 1, 8000)
    order = Command.objects.get()
    launch = LaunchSpec.from_json(order.payload)
    assert (order.kind, order.attempt_id, order.seq) == ("launch", attempt.id, 1)
    assert [(slot.rank, slot.node, slot.devices) for slot in launch.workers] == [
        (0, "n1", (0, 1, 2, 3)),
        (1, "n2", (0, 1, 2, 3)),
    ]
    assert launch.command == "python train.py"
    assert launch.recipe is None
    assert launch.checkpoint_dir.endswith(str(job.id))


def test_the_launch_carries_the_attempts_own_token(world: World, settings: object) -> None:
    """Derived from the secret, so that nothing has to be stored to check it."""
    attempt = world.place(world.submit())
    launch = LaunchSpec.from_json(Command.objects.get().payload)
    secret = settings.ENV.secret_key  # type: ignore[attr-defined]  # pytest-django's fixture has no class
    assert launch.token == attempt_token(secret, str(attempt.id))


def test_a_reached_limit_refuses_the_placement_and_changes_nothing(world: World) -> None:
    """No attempt, no order, no event; the job waits on."""
    world.queue_a.limit_milli = 2000
    world.queue_a.save()
    job = world.submit()
    with pytest.raises(LimitReached):
        world.place(job)
    assert (fresh(job).state, fresh(job).event_seq, used_milli()) == ("queued", 1, 0)
    assert not Attempt.objects.exists()
    assert not Command.objects.exists()


def test_running_is_told_once(world: World) -> None:
    """The first start is kept over later attempts."""
    job, attempt = world.running()
    assert (job.state, job.first_started_at, attempt.number) == ("running", at(0), 1)
    assert Attempt.objects.get().running_at == at(0)


def test_a_stop_keeps_the_devices_until_the_end_is_reported(world: World) -> None:
    """The ledger releases when the processes are gone, not when the order is sent."""
    job, attempt = world.running()
    stop = Step(
        trigger=Trigger.STOP,
        cause=Cause.RECLAIMED,
        intent=StopIntent.PREEMPT,
        effect=order_stop(StopIntent.PREEMPT, reason="reclaimed"),
    )
    stopping = transition(job.id, step=stop, now=at(5))
    assert (stopping.state, stopping.intent, used_milli()) == ("stopping", "preempt", 4000)
    order = StopOrder.from_json(Command.objects.get(kind="stop").payload)
    assert (order.intent, order.grace_seconds) == (StopIntent.PREEMPT, 60)
    waiting = world.end(attempt, EndCause.STOPPED, now=at(7))
    assert (waiting.state, waiting.cause, waiting.intent, used_milli()) == ("queued", "reclaimed", "", 0)
    assert (waiting.retries_used, waiting.node_retries_used, waiting.not_before) == (0, 0, None)


def test_a_step_for_another_version_lost_its_race(world: World) -> None:
    """A decision holds for what it was made on."""
    job = world.submit()
    hold = Step(trigger=Trigger.HOLD, cause=Cause.USER_HELD, expected_version=job.version + 1)
    with pytest.raises(LostRace):
        transition(job.id, step=hold, now=at(1))
    assert fresh(job).state == "queued"


@pytest.mark.parametrize("trigger", list(Trigger))
def test_a_terminal_job_refuses_every_trigger(world: World, trigger: Trigger) -> None:
    """And nothing of it changes."""
    job, attempt = world.running()
    before = world.end(attempt)
    with pytest.raises(WrongState):
        transition(job.id, step=Step(trigger=trigger, cause=Cause.PLACED), now=at(9))
    after = fresh(job)
    assert (after.state, after.version, after.event_seq) == ("succeeded", before.version, before.event_seq)


def test_an_unknown_job_is_not_found(world: World) -> None:
    """Not an attribute error somewhere below."""
    with pytest.raises(NotFound):
        transition(world.cast.team_a.id, step=Step(trigger=Trigger.HOLD, cause=Cause.USER_HELD), now=at(0))


def test_many_are_moved_in_one_transaction_and_each_refusal_is_its_own(world: World) -> None:
    """One that cannot move does not hold up the others."""
    first, second = world.submit(), world.submit()
    ended, attempt = world.running()
    world.end(attempt)
    hold = Step(trigger=Trigger.HOLD, cause=Cause.USER_HELD)
    answers = transition_many(dict.fromkeys([first.id, second.id, ended.id], hold), now=at(1))
    assert [answers[first.id], answers[second.id]] == [None, None]
    assert isinstance(answers[ended.id], WrongState)
    assert [fresh(job).state for job in (first, second, ended)] == ["held", "held", "succeeded"]


def test_every_trigger_has_an_event() -> None:
    """No edge goes unrecorded."""
    assert set(EVENT_KINDS) == {trigger for _state, trigger in TABLE}


def test_the_database_refuses_a_placed_job_without_attempt(world: World) -> None:
    """Whatever code does, the row's own rule holds when the transaction ends."""
    job = world.submit()
    with pytest.raises(IntegrityError, match="is placed"), transaction.atomic():
        Job.objects.filter(id=job.id).update(state=State.RUNNING)
        check_deferred_rules()


def test_the_database_refuses_a_live_attempt_of_a_waiting_job(world: World) -> None:
    """The other direction of the same rule."""
    job = world.submit()
    with pytest.raises(IntegrityError), transaction.atomic():
        Attempt.objects.create(job=job, number=1, placement=[], accelerator_type="slot", ordered_at=at(0))
        check_deferred_rules()


def test_the_database_refuses_a_second_live_attempt(world: World) -> None:
    """At most one, whatever the code does."""
    job = world.submit()
    attempt = world.place(job)
    with pytest.raises(IntegrityError), transaction.atomic():
        Attempt.objects.create(
            job=job, number=2, placement=attempt.placement, accelerator_type="slot", ordered_at=at(0)
        )


def test_the_database_refuses_a_terminal_job_without_its_time(world: World) -> None:
    """Terminal iff `finished_at`."""
    job = world.submit()
    with pytest.raises(IntegrityError), transaction.atomic():
        Job.objects.filter(id=job.id).update(state=State.FAILED)


def test_locking_does_not_hold_up_rows_that_refer_to_the_job(world: World) -> None:
    """NO KEY UPDATE: an attempt can be written by another session meanwhile."""
    job = world.submit()
    lock_job(job.id)
    with connection.cursor() as cursor:
        cursor.execute("SELECT mode FROM pg_locks WHERE relation = 'jobs_job'::regclass AND granted")
        assert "RowShareLock" in {row[0] for row in cursor.fetchall()}


def test_a_report_of_running_while_stopping_only_notes_the_time(world: World) -> None:
    """The order to stop overtook the news."""
    job = world.submit()
    attempt = world.place(job)
    stop = Step(
        trigger=Trigger.STOP,
        cause=Cause.USER_CANCELLED,
        intent=StopIntent.CANCEL,
        effect=order_stop(StopIntent.CANCEL, reason="user_cancelled"),
    )
    transition(job.id, step=stop, now=at(1))
    world.report(attempt, ReportKind.RUNNING, now=at(2))
    assert fresh(job).state == "stopping"
    assert Attempt.objects.get().running_at == at(2)
