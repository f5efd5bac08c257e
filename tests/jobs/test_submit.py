"""Submissions: what a user may use, and what is stored."""

import io
import zipfile
from typing import Any

import pytest

from accounts.models import User
from artifacts.models import Checkpoint, CheckpointState, CodeArchive
from artifacts.services import store_code
from eventlog.models import Command
from jobs.live import LIVE
from jobs.models import Job
from jobs.services.stop import cancel_job, hold_job
from jobs.services.submit import submit_job, submit_upload
from quotas.models import Queue
from ray_runtime.protocol import EndCause
from refusals import Forbidden, Invalid
from scheduling.model import TopologyRule
from tests.jobs.builders import NOW, World, at, document, fresh


def paths_of(refusal: pytest.ExceptionInfo[Invalid]) -> list[str]:
    """Where the problems are."""
    return [problem.path for problem in refusal.value.details]


def submit(world: World, user: User | None = None, **changes: Any) -> Job:
    """A submission of the owner, or of somebody else."""
    return submit_job(user=user or world.cast.owner, document=document(**changes), code=None, now=NOW)


def test_a_job_keeps_its_whole_document(world: World) -> None:
    """Normalised, so that it can be submitted again as it is."""
    job = submit(
        world, resources={"accelerators": 4, "memory": "8GiB", "cpus": 2}, limits={"max_runtime": 90}
    )
    assert job.spec["resources"] == {"accelerators": 4, "cpus": 2, "memory": "8GiB"}
    assert job.spec["limits"] == {"max_runtime": "1m30s", "grace": "1m", "retries": 0, "node_retries": 10}
    assert (job.memory_bytes, job.cpus_milli, job.max_runtime_seconds) == (2**33, 2000, 90)
    assert (job.team, job.owner) == (world.cast.team_a, world.cast.owner)


def test_the_only_queue_need_not_be_named(world: World) -> None:
    """Whoever has one queue means that one."""
    assert submit(world, queue=None).queue == world.queue_a


def test_with_two_queues_one_has_to_be_named(world: World) -> None:
    """The refusal lists them."""
    Queue.objects.create(
        path="a/nlp", parent=world.queue_a, team=world.cast.team_a, guarantee_milli=0, created_at=NOW
    )
    with pytest.raises(Invalid) as refusal:
        submit(world, queue=None)
    assert paths_of(refusal) == ["queue"]
    assert "a, a/nlp" in str(refusal.value.details[0].problem)
    assert submit(world, queue="a/nlp").queue.path == "a/nlp"


@pytest.mark.parametrize("path", ["b", "nowhere", "a/../b", ""])
def test_another_teams_queue_is_none_of_yours(world: World, path: str) -> None:
    """The same refusal as for one that does not exist."""
    with pytest.raises(Invalid) as refusal:
        submit(world, queue=path)
    assert paths_of(refusal) == ["queue"]


def test_a_queue_without_a_team_takes_no_jobs(world: World) -> None:
    """It only holds others together."""
    Queue.objects.create(path="root", created_at=NOW)
    with pytest.raises(Invalid) as refusal:
        submit(world, world.cast.platform_admin, queue="root")
    assert paths_of(refusal) == ["queue"]


def test_viewers_may_not_submit(world: World) -> None:
    """They see the queue, so they are told that it is their role."""
    with pytest.raises(Forbidden):
        submit(world, world.cast.viewer)


@pytest.mark.parametrize(
    ("who", "priority", "is_accepted"),
    [
        ("owner", "urgent", True),
        ("owner", 401, False),
        ("team_admin", 1000, True),
        ("platform_admin", 1000, True),
    ],
)
def test_priorities_have_a_ceiling_per_role(
    world: World, who: str, priority: object, is_accepted: bool
) -> None:
    """Members up to urgent, admins up to the top."""
    user = getattr(world.cast, who)
    if is_accepted:
        assert submit(world, user, priority=priority).priority >= 400
    else:
        with pytest.raises(Invalid) as refusal:
            submit(world, user, priority=priority)
        assert paths_of(refusal) == ["priority"]


def test_a_queue_has_a_ceiling_of_its_own(world: World) -> None:
    """Lower than the role's."""
    world.queue_a.max_priority = 200
    world.queue_a.save()
    assert submit(world, priority=200).priority == 200
    with pytest.raises(Invalid) as refusal:
        submit(world, priority=201)
    assert paths_of(refusal) == ["priority"]


def test_topology_levels_are_the_clusters(world: World) -> None:
    """With the node and the link domain always among them."""
    assert submit(world, topology={"job": {"within": "rack"}}).spec["topology"]["job"]["within"] == "rack"
    assert submit(world, topology={"job": {"within": "link"}})
    with pytest.raises(Invalid) as refusal:
        submit(world, topology={"job": {"within": "galaxy"}})
    assert paths_of(refusal) == ["topology.job.within"]


def an_archive(world: World, *, user: User | None = None) -> CodeArchive:
    """Code of one of the teams."""
    user = user or world.cast.owner
    team = world.cast.team_a if user == world.cast.owner else world.cast.team_b
    return store_code(team=team, user=user, stream=io.BytesIO(zipped()), now=NOW)


def zipped() -> bytes:
    """An archive with one file."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        archive.writestr("代码/训练.py", "print('hi')\n")
    return body.getvalue()


def test_code_is_named_by_its_id(world: World) -> None:
    """An archive of the team, uploaded before."""
    archive = an_archive(world)
    assert submit(world, code=str(archive.id)).code == archive


@pytest.mark.parametrize("code", ["0b0b6a0e-5f5b-4a3e-8c57-3f1f1e1d1c1b", ".", "not an id"])
def test_code_that_is_not_there_is_refused(world: World, code: str) -> None:
    """Also a folder's name that nobody uploaded."""
    with pytest.raises(Invalid) as refusal:
        submit(world, code=code)
    assert paths_of(refusal) == ["code"]


def test_another_teams_code_is_refused(world: World) -> None:
    """Its id is no key."""
    archive = an_archive(world, user=world.cast.outsider)
    with pytest.raises(Invalid):
        submit(world, code=str(archive.id))


def test_an_upload_takes_the_place_of_the_folder_in_the_file(world: World) -> None:
    """`code: .` names a folder of the sender; what counts is what came along."""
    job = submit_upload(
        user=world.cast.owner, document=document(code="."), upload=io.BytesIO(zipped()), now=NOW
    )
    assert job.code is not None
    assert job.spec["code"] == str(job.code.id)


def test_a_bad_document_is_refused_before_its_upload_is_read(world: World) -> None:
    """Nothing is stored."""
    upload = io.BytesIO(zipped())
    with pytest.raises(Invalid):
        submit_upload(user=world.cast.owner, document=document(workers=0), upload=upload, now=NOW)
    assert upload.tell() == 0
    assert not CodeArchive.objects.exists()


def a_checkpoint(job: Job, state: str = CheckpointState.WHOLE) -> Checkpoint:
    """One that the job saved."""
    return Checkpoint.objects.create(
        job_id=job.id, attempt_id=job.id, step=7, path="/c/7", size_bytes=1, state=state, saved_at=NOW
    )


def test_a_job_may_start_from_a_checkpoint_of_its_team(world: World) -> None:
    """The launch order names its folder."""
    source = a_checkpoint(submit(world))
    job = submit(world, checkpoint={"from": str(source.id)})
    attempt = world.place(job)
    assert Command.objects.get(attempt_id=attempt.id).payload["resume_from"] == "/c/7"


def test_other_checkpoints_are_refused(world: World) -> None:
    """Of another team, damaged, or none at all."""
    theirs = submit_job(user=world.cast.outsider, document=document(queue="b"), code=None, now=NOW)
    ids = [
        a_checkpoint(theirs).id,
        a_checkpoint(submit(world), CheckpointState.DAMAGED).id,
        "x",
        world.queue_a.id,
    ]
    for checkpoint_id in ids:
        with pytest.raises(Invalid) as refusal:
            submit(world, checkpoint={"from": str(checkpoint_id)})
        assert paths_of(refusal) == ["checkpoint.from"]


def test_problems_with_what_exists_are_told_together(world: World) -> None:
    """Code, priority and checkpoint at once."""
    with pytest.raises(Invalid) as refusal:
        submit(world, code="x", priority=999, checkpoint={"from": "y"})
    assert sorted(paths_of(refusal)) == ["checkpoint.from", "code", "priority"]


def test_the_engine_sees_what_was_asked_for(world: World) -> None:
    """Every amount in its own unit, and the version that a decision will hold for."""
    job = submit(
        world,
        priority="high",
        workers=2,
        resources={"accelerators": 4, "types": ["h100", "slot"], "cpus": 1.5, "memory": "1GiB"},
        topology={"job": {"within": "rack", "preferred": True}},
        limits={"max_runtime": "1h", "grace": "5s"},
    )
    reading = LIVE.read(now=NOW)
    (seen,) = reading.snapshot.jobs
    assert (seen.id, seen.queue, seen.priority) == (str(job.id), "a", 300)
    assert (seen.num_workers, seen.accelerators_milli, seen.cpus_milli) == (2, 4000, 1500)
    assert (seen.memory_bytes, seen.types) == (2**30, ("h100", "slot"))
    assert seen.topology == (TopologyRule(level="rack", preferred=True),)
    assert (seen.max_runtime_ms, seen.grace_ms) == (3_605_000, 5_000)
    assert reading.versions == {seen.id: fresh(job).version}
    assert [node.name for node in reading.snapshot.nodes] == ["n1", "n2"]


def test_the_engine_does_not_see_held_ended_and_backing_off_jobs(world: World) -> None:
    """They ask for nothing now."""
    hold_job(user=world.cast.owner, job_id=submit(world).id, now=NOW)
    cancel_job(user=world.cast.owner, job_id=submit(world).id, now=NOW)
    _job, attempt = world.running(limits={"retries": 1})
    world.end(attempt, EndCause.PROGRAM_FAILED, exit_code=1)
    assert LIVE.read(now=at(0.5)).snapshot.jobs == ()
    assert len(LIVE.read(now=at(1)).snapshot.jobs) == 1
