"""Submitting in the browser: one job per form, every problem at its field, clone, upload, preview."""

import io
import json
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from artifacts.models import Checkpoint, CheckpointState
from jobs.models import Job
from tests.jobs.builders import NOW, World
from tests.web.browsing import browser_of, text_of

FORM = {
    "source": "form",
    "spec": "",
    "name": "first",
    "queue": "a",
    "program": "run",
    "run": "python train.py --lr 3e-4",
    "workers": "2",
    "accelerators": "1",
    "memory": "1GiB",
}


def test_the_form_makes_a_job_and_leads_to_it(world: World) -> None:
    """Post, redirect, get: a reload shows the job again and sends nothing."""
    response = browser_of(world.cast.owner).post("/jobs/new", FORM)
    job = Job.objects.get()
    assert response.headers["Location"] == f"/jobs/{job.id}"
    assert (job.name, job.num_workers, job.memory_bytes) == ("first", 2, 2**30)
    assert job.spec["run"] == "python train.py --lr 3e-4"


def test_the_same_form_twice_is_one_job(world: World) -> None:
    """A double click, and going back and sending it again."""
    client = browser_of(world.cast.owner)
    key = client.get("/jobs/new").context["key"]
    answers = [client.post("/jobs/new", {**FORM, "idempotency_key": key}) for _click in range(3)]
    assert len({answer.headers["Location"] for answer in answers}) == 1
    assert Job.objects.count() == 1


def test_a_form_opened_again_is_another_job(world: World) -> None:
    """Each rendering has a key of its own."""
    client = browser_of(world.cast.owner)
    keys = {client.get("/jobs/new").context["key"] for _opening in range(2)}
    for key in keys:
        client.post("/jobs/new", {**FORM, "idempotency_key": key})
    assert len(keys) == Job.objects.count() == 2


def test_a_refused_form_can_be_corrected_with_the_same_key(world: World) -> None:
    """A refusal uses no key up."""
    client = browser_of(world.cast.owner)
    wrong = {**FORM, "workers": "none", "idempotency_key": "key-1"}
    refused = client.post("/jobs/new", wrong)
    assert refused.status_code == 422
    assert refused.context["key"] == "key-1"
    assert client.post("/jobs/new", {**wrong, "workers": "1"}).status_code == 302
    assert Job.objects.count() == 1


def test_every_problem_is_shown_with_its_path(world: World) -> None:
    """All at once, and the form keeps what was typed."""
    wrong = {**FORM, "name": " ", "workers": "0", "memory": "8 bits", "queue": "b", "priority": "huge"}
    response = browser_of(world.cast.owner).post("/jobs/new", wrong)
    page = response.content.decode()
    for path in ("name", "workers", "resources.memory", "priority"):
        assert f'data-problem="{path}"' in page
    assert 'value="8 bits"' in page
    assert not Job.objects.exists()


def test_another_teams_queue_is_refused(world: World) -> None:
    """As one that is not theirs."""
    response = browser_of(world.cast.owner).post("/jobs/new", {**FORM, "queue": "b"})
    assert response.status_code == 422
    assert 'data-problem="queue"' in response.content.decode()


def test_a_viewer_cannot_submit_by_hand(world: World) -> None:
    """Also without the page's form."""
    response = browser_of(world.cast.viewer).post("/jobs/new", FORM)
    assert response.status_code in (403, 422)
    assert not Job.objects.exists()


def test_the_job_file_counts_when_it_was_edited_last(world: World) -> None:
    """The form's fields are then not looked at."""
    written = "name: 从文件\nqueue: a\nrun: |\n  echo 一\n  echo 二\nresources: {accelerators: 2}\n"
    browser_of(world.cast.owner).post("/jobs/new", {**FORM, "source": "yaml", "spec": written})
    job = Job.objects.get()
    assert (job.name, job.accelerators_milli) == ("从文件", 2000)
    assert job.spec["run"] == "echo 一\necho 二\n"


@pytest.mark.parametrize("written", ["a: [", "- list", "just text", "", "a: &x 1\nb: *x", "x: 1\nx: 2"])
def test_a_job_file_that_is_none_is_refused(world: World, written: str) -> None:
    """With a sentence, never with an error of the server."""
    fields = {**FORM, "source": "yaml", "spec": written}
    response = browser_of(world.cast.owner).post("/jobs/new", fields)
    assert response.status_code == 422
    assert "data-problem" in response.content.decode()


def check(world: World, **fields: str) -> Any:
    """What the server says while one types."""
    response = browser_of(world.cast.owner).post("/jobs/new/check", {**FORM, **fields})
    assert response.status_code == 200
    return response


def test_the_check_predicts_the_start(world: World) -> None:
    """Free devices: at once. All in use: why it would wait, in numbers."""
    assert "Would start at once" in check(world).content.decode()
    world.running()
    job = world.submit()
    world.place(job, nodes=("n2",))
    page = check(world).content.decode()
    assert "Would wait" in page
    assert "0 accelerators are free" in page
    assert Job.objects.count() == 2


def test_the_check_brings_the_other_side_up_to_date(world: World) -> None:
    """From the form the job file, from the job file the form."""
    by_form = check(world, spec="limits: {grace: 5s}\n").content.decode()
    assert 'id="spec"' in by_form
    assert "run: python train.py --lr 3e-4" in by_form
    assert "grace: 5s" in by_form
    by_file = check(
        world, source="yaml", spec="name: other\nqueue: a\nrecipe: gpt-pretrain\n"
    ).content.decode()
    assert 'id="fields"' in by_file
    assert 'value="other"' in by_file
    broken = check(world, source="yaml", spec="a: [").content.decode()
    assert 'id="fields"' not in broken


def test_a_clone_starts_from_the_jobs_document(world: World) -> None:
    """Also from one of its checkpoints."""
    job, attempt = world.running(priority="high")
    checkpoint = Checkpoint.objects.create(
        job_id=job.id,
        attempt_id=attempt.id,
        step=10,
        path="/x",
        size_bytes=1,
        state=CheckpointState.WHOLE,
        saved_at=NOW,
    )
    client = browser_of(world.cast.teammate)
    page = client.get("/jobs/new", {"clone": str(job.id), "checkpoint": str(checkpoint.id)})
    client.post("/jobs/new", {"source": "yaml", "spec": page.context["draft"].text})
    clone = Job.objects.exclude(id=job.id).get()
    assert (clone.owner, clone.priority) == (world.cast.teammate, 300)
    assert clone.spec["checkpoint"]["from"] == str(checkpoint.id)


@pytest.mark.parametrize("source", ["nonsense", "00000000-0000-0000-0000-000000000000"])
def test_a_clone_of_nothing_is_not_found(world: World, source: str) -> None:
    """Nor is one of another team's job."""
    assert browser_of(world.cast.owner).get("/jobs/new", {"clone": source}).status_code == 404
    job = world.submit()
    assert browser_of(world.cast.outsider).get("/jobs/new", {"clone": str(job.id)}).status_code == 404


def archive(*names: str) -> SimpleUploadedFile:
    """A zip with these members."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as file:
        for name in names:
            file.writestr(name, "print('hello')")
    return SimpleUploadedFile("code.zip", body.getvalue())


def test_code_is_uploaded_with_the_job(world: World) -> None:
    """The archive is the team's, and the job's page says so."""
    client = browser_of(world.cast.owner)
    client.post("/jobs/new", {**FORM, "code": archive("代码/训练.py")})
    job = Job.objects.get()
    assert job.code is not None
    assert job.code.num_files == 1
    assert job.code.sha256 in text_of(client.get(f"/jobs/{job.id}/files"))


def test_a_bad_archive_is_refused_and_nothing_starts(world: World) -> None:
    """With the reason on the form."""
    response = browser_of(world.cast.owner).post("/jobs/new", {**FORM, "code": archive("../../evil")})
    assert response.status_code in range(400, 500)
    assert not Job.objects.exists()


def test_the_documented_schema_is_linked(world: World) -> None:
    """And is there."""
    client = browser_of(world.cast.owner)
    assert 'href="/api/v1/schema/job"' in text_of(client.get("/jobs/new"))
    assert "properties" in json.loads(client.get("/api/v1/schema/job").content)
