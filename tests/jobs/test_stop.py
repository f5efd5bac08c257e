"""What people do to jobs: cancel, hold, release, delete, change the priority. And who may."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from accounts.models import User
from eventlog.models import Command, Event
from jobs.errors import WrongState
from jobs.lifecycle import Cause, Trigger
from jobs.models import Job
from jobs.selectors import get_job, visible_jobs
from jobs.services.attempts import order_stop
from jobs.services.change import change_priority, clone_document
from jobs.services.stop import cancel_job, delete_job, hold_job, release_job
from jobs.services.submit import submit_job
from jobs.services.transition import Step, transition
from ray_runtime.protocol import EndCause, StopIntent
from refusals import Forbidden, Invalid, NotFound
from tests.jobs.builders import World, at, fresh, used_milli

Act = Callable[..., Any]


def preempt(job: Job, *, now: datetime) -> None:
    """As the engine does it."""
    step = Step(
        trigger=Trigger.STOP,
        cause=Cause.PREEMPTED,
        intent=StopIntent.PREEMPT,
        effect=order_stop(StopIntent.PREEMPT, reason="preempted"),
    )
    transition(job.id, step=step, now=now)


def test_a_waiting_job_is_cancelled_at_once(world: World) -> None:
    """Nothing was ordered, so nothing is to be stopped."""
    job = world.submit()
    outcome = cancel_job(user=world.cast.owner, job_id=job.id, now=at(1))
    assert (outcome.job.state, outcome.changed) == ("cancelled", True)
    assert not Command.objects.exists()


def test_a_running_job_is_cancelled_when_its_processes_are_gone(world: World) -> None:
    """It records who cancelled it and when, also in the event of the end."""
    job, attempt = world.running()
    outcome = cancel_job(user=world.cast.team_admin, job_id=job.id, now=at(1))
    assert (outcome.job.state, outcome.job.intent, used_milli()) == ("stopping", "cancel", 4000)
    ended = world.end(attempt, EndCause.STOPPED, exit_code=0, now=at(3))
    assert (ended.state, ended.cause, ended.finished_at, used_milli()) == (
        "cancelled",
        "user_cancelled",
        at(3),
        0,
    )
    assert ended.changed_by == world.cast.team_admin
    told = Event.objects.filter(job_id=job.id, kind__in=["stop_ordered", "cancelled"]).order_by("seq")
    assert [event.actor_id for event in told] == [world.cast.team_admin.pk] * 2


def test_a_repeated_cancel_changes_nothing(world: World) -> None:
    """While it stops, and after it is cancelled."""
    job, attempt = world.running()
    cancel_job(user=world.cast.owner, job_id=job.id, now=at(1))
    again = cancel_job(user=world.cast.owner, job_id=job.id, now=at(2))
    assert (again.changed, str(again.notice)) == (False, "It is already stopping.")
    assert Command.objects.filter(kind="stop").count() == 1
    world.end(attempt, EndCause.STOPPED, now=at(3))
    before = fresh(job)
    once_more = cancel_job(user=world.cast.owner, job_id=job.id, now=at(4))
    assert once_more.changed is False
    assert fresh(job).version == before.version


def test_a_job_that_has_ended_otherwise_cannot_be_cancelled(world: World) -> None:
    """The refusal names the state."""
    job, attempt = world.running()
    world.end(attempt)
    with pytest.raises(WrongState, match="wrong_state") as refusal:
        cancel_job(user=world.cast.owner, job_id=job.id, now=at(9))
    assert "succeeded" in refusal.value.message


def test_a_job_that_is_starting_gets_both_orders_in_order(world: World) -> None:
    """Cancelled before the launch was delivered: launch, then stop, so that nothing is left behind."""
    job = world.submit()
    attempt = world.place(job)
    cancel_job(user=world.cast.owner, job_id=job.id, now=at(0.1))
    orders = Command.objects.order_by("id").values_list("kind", "seq")
    assert list(orders) == [("launch", 1), ("stop", 2)]
    assert world.end(attempt, EndCause.STOPPED).state == "cancelled"
    assert used_milli() == 0


def test_stops_escalate_only(world: World) -> None:
    """Preempt, hold, cancel: each is a further order; a weaker one changes nothing."""
    job, attempt = world.running()
    preempt(job, now=at(1))
    hold_job(user=world.cast.owner, job_id=job.id, now=at(2))
    assert (fresh(job).intent, fresh(job).cause) == ("hold", "user_held")
    with pytest.raises(WrongState):
        preempt(job, now=at(3))
    cancel_job(user=world.cast.owner, job_id=job.id, now=at(4))
    with pytest.raises(WrongState):
        hold_job(user=world.cast.owner, job_id=job.id, now=at(5))
    intents = [
        payload["intent"] for payload in Command.objects.filter(kind="stop").values_list("payload", flat=True)
    ]
    assert sorted(intents) == ["cancel", "hold", "preempt"]
    assert world.end(attempt, EndCause.PROGRAM_FAILED, exit_code=1).state == "cancelled"


def test_a_cancel_over_a_preemption_ends_in_cancelled(world: World) -> None:
    """The person's wish wins over the engine's."""
    job, attempt = world.running()
    preempt(job, now=at(1))
    cancel_job(user=world.cast.owner, job_id=job.id, now=at(2))
    assert world.end(attempt, EndCause.STOPPED).state == "cancelled"


def test_a_preempted_job_that_finishes_has_succeeded(world: World) -> None:
    """It used the grace to complete its work."""
    job, attempt = world.running()
    preempt(job, now=at(1))
    assert world.end(attempt, EndCause.COMPLETED, finished=True).state == "succeeded"


def test_hold_and_release_keep_the_place_in_the_queue(world: World) -> None:
    """The first submission time stays."""
    job, attempt = world.running()
    hold_job(user=world.cast.owner, job_id=job.id, now=at(1))
    held = world.end(attempt, EndCause.STOPPED, now=at(2))
    assert (held.state, held.cause, used_milli()) == ("held", "user_held", 0)
    again = hold_job(user=world.cast.owner, job_id=job.id, now=at(3))
    assert again.changed is False
    released = release_job(user=world.cast.owner, job_id=job.id, now=at(4)).job
    assert (released.state, released.submitted_at) == ("queued", at(0))
    assert release_job(user=world.cast.owner, job_id=job.id, now=at(5)).changed is False


def test_a_running_job_is_not_released(world: World) -> None:
    """There is no such edge."""
    job, _attempt = world.running()
    with pytest.raises(WrongState):
        release_job(user=world.cast.owner, job_id=job.id, now=at(1))


def test_only_ended_jobs_are_deleted_and_nothing_is_freed_twice(world: World) -> None:
    """The record is hidden, the ledger untouched."""
    job, attempt = world.running()
    with pytest.raises(WrongState):
        delete_job(user=world.cast.owner, job_id=job.id, now=at(1))
    other, _other_attempt = world.running()
    world.end(attempt)
    assert used_milli() == 4000
    delete_job(user=world.cast.owner, job_id=job.id, now=at(2))
    assert used_milli() == 4000
    assert list(visible_jobs(world.cast.owner)) == [other]
    with pytest.raises(NotFound):
        get_job(world.cast.owner, job.id)
    with pytest.raises(NotFound):
        delete_job(user=world.cast.owner, job_id=job.id, now=at(3))


def test_a_priority_changes_within_the_ceilings(world: World) -> None:
    """The version changes too, so that a decision on the old priority is dropped."""
    job = world.submit()
    changed = change_priority(user=world.cast.owner, job_id=job.id, priority=400, now=at(1))
    assert (changed.priority, changed.version) == (400, job.version + 1)
    with pytest.raises(Invalid):
        change_priority(user=world.cast.owner, job_id=job.id, priority=401, now=at(2))
    assert (
        change_priority(user=world.cast.team_admin, job_id=job.id, priority=1000, now=at(3)).priority == 1000
    )


def test_the_same_priority_again_is_no_event(world: World) -> None:
    """Nothing changed, nothing to tell."""
    job = world.submit()
    change_priority(user=world.cast.owner, job_id=job.id, priority=job.priority, now=at(1))
    assert fresh(job).event_seq == 1


def test_a_queues_ceiling_holds_for_all_below_it(world: World) -> None:
    """Also for a team admin."""
    world.queue_a.max_priority = 250
    world.queue_a.save()
    job = world.submit()
    with pytest.raises(Invalid) as refusal:
        change_priority(user=world.cast.team_admin, job_id=job.id, priority=300, now=at(1))
    assert [problem.path for problem in refusal.value.details] == ["priority"]


def test_an_ended_job_keeps_its_priority(world: World) -> None:
    """It would mean nothing."""
    job = world.submit()
    cancel_job(user=world.cast.owner, job_id=job.id, now=at(1))
    with pytest.raises(WrongState):
        change_priority(user=world.cast.owner, job_id=job.id, priority=100, now=at(2))


def test_a_clone_of_a_clone_keeps_the_name(world: World) -> None:
    """Names need not be unique, so none has to grow."""
    job = world.submit()
    for _time in range(3):
        job = submit_job(user=world.cast.owner, document=clone_document(job), code=None, now=at(1))
    assert job.name == "微调 7B 第一次"
    assert len(set(Job.objects.values_list("id", flat=True))) == 4


ACTS: list[Act] = [cancel_job, hold_job, release_job, delete_job]


def _by(cast: Any, name: str) -> User:
    user = getattr(cast, name)
    assert isinstance(user, User)
    return user


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize(
    ("who", "refusal"), [("teammate", Forbidden), ("viewer", Forbidden), ("outsider", NotFound)]
)
def test_others_may_not(world: World, act: Act, who: str, refusal: type[Exception]) -> None:
    """Teammates and viewers see the job and may not; for a stranger there is none."""
    job = world.submit()
    with pytest.raises(refusal):
        act(user=_by(world.cast, who), job_id=job.id, now=at(1))
    assert fresh(job).state == "queued"


@pytest.mark.parametrize("who", ["owner", "team_admin", "platform_admin"])
def test_these_may(world: World, who: str) -> None:
    """The owner, the team's admin, the platform's."""
    job = world.submit()
    assert cancel_job(user=_by(world.cast, who), job_id=job.id, now=at(1)).job.state == "cancelled"


def test_an_unknown_id_is_not_found(world: World) -> None:
    """As another team's is."""
    with pytest.raises(NotFound):
        cancel_job(user=world.cast.owner, job_id=UUID(int=7), now=at(1))
