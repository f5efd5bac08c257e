"""Reports of the conductor: each counts once, and an old attempt's changes nothing."""

import pytest

from cluster.errors import ReportGap, StaleEpoch
from cluster.services import take_epoch
from eventlog.models import Event
from jobs.models import Attempt
from jobs.services.ingest import ingest_reports
from ray_runtime.protocol import EndCause, Report, ReportKind
from tests.jobs.builders import INCARNATION, World, at, fresh, used_milli


def report(seq: int, attempt: Attempt, kind: ReportKind = ReportKind.ENDED, **told: object) -> Report:
    """One report."""
    return Report(
        seq=seq,
        kind=kind,
        job_id=str(attempt.job_id),
        attempt_id=str(attempt.id),
        at_ms=0,
        **told,  # type: ignore[arg-type]  # what the caller tells
    )


def test_a_whole_life_in_one_batch(world: World) -> None:
    """Forming, running, ended: as it comes after an outage of the portal."""
    job = world.submit()
    attempt = world.place(job)
    batch = [
        report(1, attempt, ReportKind.FORMING),
        report(2, attempt, ReportKind.RUNNING),
        report(3, attempt, cause=EndCause.COMPLETED, exit_code=0),
    ]
    acked = ingest_reports(epoch=world.epoch, incarnation=INCARNATION, reports=batch, now=at(9))
    assert (acked, fresh(job).state, used_milli()) == (3, "succeeded", 0)
    kinds = list(Event.objects.filter(job_id=job.id).order_by("seq").values_list("kind", flat=True))
    assert kinds == ["submitted", "placed", "forming", "started", "succeeded"]


def test_a_batch_that_comes_again_has_no_second_effect(world: World) -> None:
    """The answer was lost: whole, or with new ones behind."""
    job, attempt = world.running(limits={"retries": 5})
    first = [report(2, attempt, cause=EndCause.PROGRAM_FAILED, exit_code=1)]
    for _time in range(3):
        ingest_reports(epoch=world.epoch, incarnation=INCARNATION, reports=first, now=at(1))
    assert (fresh(job).state, fresh(job).retries_used) == ("queued", 1)
    second = world.place(job)
    both = [*first, report(3, second, ReportKind.RUNNING)]
    assert ingest_reports(epoch=world.epoch, incarnation=INCARNATION, reports=both, now=at(2)) == 3
    assert (fresh(job).state, fresh(job).retries_used) == ("running", 1)


def test_reports_of_an_attempt_that_has_ended_change_nothing(world: World) -> None:
    """A later attempt runs on."""
    job, old = world.running(limits={"node_retries": 5})
    world.end(old, EndCause.AGENT_LOST, node="n1")
    new = world.place(job)
    world.report(new, ReportKind.RUNNING)
    before = fresh(job)
    world.end(old, EndCause.COMPLETED)
    world.report(old, ReportKind.RUNNING)
    after = fresh(job)
    assert (after.state, after.version, after.event_seq) == ("running", before.version, before.event_seq)
    assert Attempt.objects.get(id=old.id).end_cause == "agent_lost"


def test_an_unknown_attempt_is_passed_over(world: World) -> None:
    """Also an id that is none; what stands behind it in the batch is taken in."""
    job, attempt = world.running()
    strange = [
        Report(seq=2, kind=ReportKind.ENDED, job_id="x", attempt_id="x", at_ms=0),
        Report(seq=3, kind=ReportKind.ENDED, job_id="x", attempt_id=str(job.id), at_ms=0),
        report(4, attempt, cause=EndCause.COMPLETED),
    ]
    assert ingest_reports(epoch=world.epoch, incarnation=INCARNATION, reports=strange, now=at(1)) == 4
    assert fresh(job).state == "succeeded"


def test_a_gap_is_refused_and_nothing_is_taken_in(world: World) -> None:
    """The conductor sends again from there."""
    job, attempt = world.running()
    with pytest.raises(ReportGap):
        ingest_reports(
            epoch=world.epoch,
            incarnation=INCARNATION,
            reports=[report(9, attempt, cause=EndCause.COMPLETED)],
            now=at(1),
        )
    assert fresh(job).state == "running"


def test_reports_of_a_conductor_that_was_replaced_are_refused(world: World) -> None:
    """Fenced by the epoch."""
    job, attempt = world.running()
    take_epoch(incarnation="conductor-2", now=at(1))
    with pytest.raises(StaleEpoch):
        world.end(attempt)
    assert fresh(job).state == "running"


def test_a_new_incarnation_counts_from_one(world: World) -> None:
    """Its numbers are its own."""
    job, attempt = world.running()
    epoch = take_epoch(incarnation="conductor-2", now=at(1))
    ended = [report(1, attempt, cause=EndCause.COMPLETED)]
    assert ingest_reports(epoch=epoch, incarnation="conductor-2", reports=ended, now=at(1)) == 1
    assert fresh(job).state == "succeeded"


def test_an_empty_batch_is_no_error(world: World) -> None:
    """Nothing to acknowledge."""
    assert ingest_reports(epoch=world.epoch, incarnation=INCARNATION, reports=[], now=at(1)) == 0


def test_what_the_cluster_says_is_cut_to_what_can_be_kept(world: World) -> None:
    """Texts of any length with any characters, numbers of any size."""
    _job, attempt = world.running()
    told = "\x00\ud800" + "x" * 5000
    world.end(
        attempt,
        EndCause.PROGRAM_FAILED,
        exit_code=2**40,
        rank=-1,
        node=told,
        message=told,
        last_lines=tuple([told] * 200),
    )
    ended = Attempt.objects.get(id=attempt.id)
    assert (ended.exit_code, ended.failed_rank) == (None, None)
    assert (len(ended.message), len(ended.failed_node)) == (1000, 120)
    assert ended.message.startswith("�")
    assert len(ended.last_lines) == 50


def test_an_ending_without_a_cause_is_unknown(world: World) -> None:
    """Charged to the platform."""
    _job, attempt = world.running()
    world.report(attempt, ReportKind.ENDED)
    assert fresh(attempt.job_id).node_retries_used == 1


def test_running_told_again_keeps_the_first_time(world: World) -> None:
    """A rebuilt conductor may repeat it; the time limit counts from the first."""
    job, attempt = world.running()
    world.report(attempt, ReportKind.RUNNING, now=at(50))
    assert Attempt.objects.get(id=attempt.id).running_at == at(0)
    assert fresh(job).version == job.version
