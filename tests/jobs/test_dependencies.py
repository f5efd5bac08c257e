"""Jobs that start after others, arrays of jobs, and gangs that may be smaller than wanted."""

import threading
import time
from dataclasses import replace

import pytest
from django.db import connections, transaction

from jobs.live import LIVE
from jobs.models import Attempt, Job, JobArray, PlanRecord
from jobs.selectors import ahead_of
from jobs.services.apply_plan import GROWS_AFTER, Applied, apply_plan
from jobs.services.change import clone_document
from jobs.services.plans import forget_plans
from jobs.services.policy import change_policy, live_policy
from jobs.services.stop import cancel_job
from jobs.services.tick import run_tick
from ray_runtime.protocol import EndCause, StopIntent
from refusals import Forbidden, Invalid
from scheduling.model import JobId, NodeName, Order, Plan, Policy, Repair, Resize, Runtimes, Start, Worker
from tests.jobs.builders import World, at, fresh, used_milli

ONE = {"accelerators": 1}


def worker(node: str, *devices: int) -> Worker:
    """A worker's place."""
    return Worker(node=NodeName(node), devices=devices)


def test_a_job_starts_after_the_one_that_it_depends_on(world: World) -> None:
    """Only when that one has succeeded, though devices are free."""
    first = world.submit(resources=ONE)
    second = world.submit(resources=ONE, depends_on=[str(first.id)])
    run_tick(now=at(1))
    run_tick(now=at(2))
    assert (fresh(first).state, fresh(second).state) == ("starting", "queued")
    world.end(Attempt.objects.get(job=first), now=at(3))
    run_tick(now=at(4))
    assert fresh(second).state == "starting"


def test_a_start_before_the_other_has_succeeded_is_dropped(world: World) -> None:
    """Should the other fail between the snapshot and the decision's turn."""
    first = world.submit(resources=ONE)
    second = world.submit(resources=ONE, depends_on=[str(first.id)])
    reading = LIVE.read(now=at(1))
    cancel_job(user=world.cast.owner, job_id=first.id, now=at(1))
    start = Start(job=JobId(str(second.id)), placement=(worker("n1", 0),), accelerator_type="slot")
    assert apply_plan(Plan(starts=(start,)), reading, now=at(2)).num_dropped == 1
    assert (fresh(second).state, used_milli()) == ("queued", 0)


def test_what_depends_on_a_failed_job_is_cancelled_with_all_behind_it(world: World) -> None:
    """With a cause that says so; what is not concerned goes on."""
    first = world.submit()
    second = world.submit(depends_on=[str(first.id)])
    third = world.submit(depends_on=[str(second.id)])
    other = world.submit()
    cancel_job(user=world.cast.owner, job_id=first.id, now=at(1))
    assert run_tick(now=at(2)).num_orphaned == 1
    assert run_tick(now=at(3)).num_orphaned == 1
    for job in (second, third):
        assert (fresh(job).state, fresh(job).cause) == ("cancelled", "dependency_failed")
    assert fresh(other).state == "starting"


def test_only_jobs_that_can_still_end_well_may_be_named(world: World) -> None:
    """Neither another team's nor a failed one; a clone waits for what is still open."""
    gone = world.submit()
    cancel_job(user=world.cast.owner, job_id=gone.id, now=at(1))
    stranger = "00000000-0000-4000-8000-000000000000"
    with pytest.raises(Invalid) as refusal:
        world.submit(depends_on=[str(gone.id), stranger])
    assert [problem.path for problem in refusal.value.details] == ["depends_on[0]", "depends_on[1]"]
    first = world.submit(resources=ONE)
    second = world.submit(resources=ONE, depends_on=[str(first.id)])
    assert clone_document(second)["depends_on"] == [str(first.id)]
    run_tick(now=at(2))
    world.end(Attempt.objects.get(job=first), now=at(3))
    assert "depends_on" not in clone_document(second)


def test_a_clone_of_what_depended_on_a_failed_job_does_not_run_without_it(world: World) -> None:
    """The dependency is named again, so the submission of the clone says what is wrong."""
    first = world.submit()
    second = world.submit(depends_on=[str(first.id)])
    cancel_job(user=world.cast.owner, job_id=first.id, now=at(1))
    assert clone_document(second)["depends_on"] == [str(first.id)]
    with pytest.raises(Invalid):
        world.submit(depends_on=clone_document(second)["depends_on"])


def test_an_array_becomes_its_jobs_under_one_cap(world: World) -> None:
    """Each has its values; the engine knows the cap."""
    values = {"lr": [1e-4, 3e-4], "seed": [1, 2]}
    first = world.submit(resources=ONE, array=values, limits={"concurrent": 2})
    array = JobArray.objects.get()
    jobs = list(Job.objects.filter(array=array))
    assert (array.size, array.cap, len(jobs), first.array_id) == (4, 2, 4, array.id)
    assert first.array_values == {"lr": 1e-4, "seed": 1}
    in_order = [job.array_values for job in Job.objects.filter(array=array).order_by("id")]
    assert in_order == [{"lr": lr, "seed": seed} for lr in (1e-4, 3e-4) for seed in (1, 2)]
    assert [ahead_of(job) for job in Job.objects.filter(array=array).order_by("id")] == [0, 1, 2, 3]
    assert first.spec["environment"]["variables"] == {"lr": "0.0001", "seed": "1"}
    assert {(job.array, job.array_cap) for job in LIVE.read(now=at(1)).snapshot.jobs} == {(str(array.id), 2)}
    assert "array" not in clone_document(first)


def test_an_elastic_gang_is_described_to_the_engine(world: World) -> None:
    """Its sizes, its steps, its tensor groups, and whose it is."""
    world.submit(
        workers={"min": 4, "max": 16, "want": 8},
        parallelism={"tensor": 2, "pipeline": 2},
        resources=ONE,
    )
    (job,) = LIVE.read(now=at(1)).snapshot.jobs
    assert (job.num_workers, job.min_workers, job.max_workers) == (8, 4, 16)
    assert (job.step_workers, job.group_workers, job.user) == (4, 2, "owner")


def test_a_shrink_is_a_stop_and_a_smaller_start(world: World) -> None:
    """The gang saves and leaves with all its devices; the ledger follows what it got, not what it wants."""
    job = world.submit(workers={"min": 1, "max": 4}, resources=ONE)
    four = tuple(worker("n1", device) for device in range(4))
    start = Start(job=JobId(str(job.id)), placement=four, accelerator_type="slot")
    apply_plan(Plan(starts=(start,)), LIVE.read(now=at(1)), now=at(1))
    assert used_milli() == 4000
    smaller = Resize(job=JobId(str(job.id)), placement=four[:2], beneficiary=JobId("other"))
    reading = LIVE.read(now=at(2))
    assert apply_plan(Plan(resizes=(smaller,)), reading, now=at(2)).num_resized == 1
    told = fresh(job)
    assert (told.state, told.intent, told.cause) == ("stopping", StopIntent.PREEMPT, "resized")
    world.end(Attempt.objects.get(job=job), EndCause.STOPPED, now=at(3))
    assert (fresh(job).state, fresh(job).retries_used, used_milli()) == ("queued", 0, 0)
    again = Start(job=JobId(str(job.id)), placement=four[:2], accelerator_type="slot")
    apply_plan(Plan(starts=(again,)), LIVE.read(now=at(4)), now=at(4))
    assert used_milli() == 2000


def test_a_gang_grows_only_after_it_has_run_for_a_while(world: World) -> None:
    """Growing costs it a restart and serves nobody else."""
    job = world.submit(workers={"min": 1, "max": 4}, resources=ONE)
    two = tuple(worker("n1", device) for device in range(2))
    start = Start(job=JobId(str(job.id)), placement=two, accelerator_type="slot")
    apply_plan(Plan(starts=(start,)), LIVE.read(now=at(0)), now=at(0))
    larger = Resize(job=JobId(str(job.id)), placement=(*two, worker("n1", 2)))
    late = GROWS_AFTER.total_seconds()
    early = apply_plan(Plan(resizes=(larger,)), LIVE.read(now=at(1)), now=at(late - 1))
    assert (early.num_resized, fresh(job).state) == (0, "starting")
    assert apply_plan(Plan(resizes=(larger,)), LIVE.read(now=at(1)), now=at(late)).num_resized == 1


def test_a_plan_that_repairs_is_an_error_on_record(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The engine is never told that workers are missing, so it has nothing to repair."""
    repair = Repair(job=JobId("x"), placement=())
    assert apply_plan(Plan(repairs=(repair,)), LIVE.read(now=at(1)), now=at(1)) == Applied()
    (record,) = caplog.records
    assert (record.levelname, "repairs" in record.message) == ("ERROR", True)


def test_every_plan_is_on_record_once(world: World) -> None:
    """Those that say the same lengthen one row; old ones go after the days that the policy gives."""
    world.submit()
    run_tick(now=at(1))
    for second in range(2, 6):
        run_tick(now=at(second))
    first, rest = PlanRecord.objects.order_by("id")
    assert (first.num_starts, first.num_waiting, rest.num_starts, rest.num_plans) == (1, 0, 0, 4)
    assert rest.policy["num_reservations"] == 4
    assert forget_plans(now=at(6 * 86_400)) == 0
    assert forget_plans(now=at(8 * 86_400)) == 2


def test_platform_admins_say_how_the_engine_decides(world: World) -> None:
    """All wrong keys at once; nobody else may."""
    admin = world.cast.platform_admin
    change_policy(user=admin, changes={"order": "strict_fifo", "num_reservations": 8}, now=at(1))
    assert (live_policy().order, live_policy().num_reservations) == (Order.STRICT_FIFO, 8)
    with pytest.raises(Invalid) as refusal:
        change_policy(
            user=admin, changes={"order": "lottery", "shares_surplus": 1, "num_reservations": -1}, now=at(2)
        )
    assert len(refusal.value.details) == 3
    with pytest.raises(Forbidden):
        change_policy(user=world.cast.owner, changes={"num_reservations": 0}, now=at(3))
    assert live_policy().num_reservations == 8


def test_the_orders_that_traces_favour_can_be_set(world: World) -> None:
    """Each with all that it needs; the least service is given in seconds of one device."""
    neutral = Policy(runtimes=Runtimes.PREDICTIONS, num_reservations=4)
    assert live_policy() == neutral
    changes = {
        "preempts": False,
        "damps_size": True,
        "ageing_percent": 10,
        "service_quantum_device_seconds": 3000,
    }
    change_policy(user=world.cast.platform_admin, changes=changes, now=at(1))
    assert live_policy() == replace(
        neutral,
        preempts=False,
        damps_size=True,
        ageing_percent=10,
        service_quantum_milli_ms=3_000_000_000,
    )


def test_two_who_change_the_policy_at_once_both_do(committed_world: World) -> None:
    """The second waits for the first, and writes its own keys alone."""
    admin, written = committed_world.cast.platform_admin, threading.Event()
    change_policy(user=admin, changes={"num_reservations": 1}, now=at(1))

    def change_slowly() -> None:
        with transaction.atomic():
            change_policy(user=admin, changes={"num_reservations": 7}, now=at(2))
            written.set()
            time.sleep(0.3)
        connections.close_all()

    slow = threading.Thread(target=change_slowly)
    slow.start()
    written.wait(timeout=20)
    change_policy(user=admin, changes={"max_evictions": 5}, now=at(3))
    slow.join(timeout=20)
    assert (live_policy().num_reservations, live_policy().max_evictions) == (7, 5)
