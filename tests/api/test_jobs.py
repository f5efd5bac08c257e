"""Jobs over REST: the shapes, who sees what, acting, filters, and the number of queries."""

import io
import json
import zipfile
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import serializers as shapes
from jobs.lifecycle import State
from jobs.models import Attempt, Job
from jobs.services.tick import run_tick
from ray_runtime.protocol import EndCause, ReportKind
from tests.api.faces import Face
from tests.jobs.builders import at, document, force_state


def keys_of(shape: type[Any]) -> set[str]:
    """The fields that OpenAPI promises."""
    return set(shape().get_fields())


def test_a_submitted_job_comes_back_whole(face: Face) -> None:
    """201, its address, and every field that the schema promises."""
    answer = face.post("jobs", document())
    job = answer.json()
    assert (answer.status_code, answer["Location"]) == (201, f"/api/v1/jobs/{job['id']}")
    assert set(job) == keys_of(shapes.JobDetailShape)
    assert set(job["resources"]) == keys_of(shapes.ResourcesShape)
    assert (job["state"], job["queue"], job["team"], job["owner"]) == ("queued", "a", "team-a", "owner")
    assert (job["accelerators_total"], job["attempt"], job["summary"]) == (4, None, None)
    assert job["spec"]["run"] == "python train.py"


def test_an_ended_job_has_attempt_reason_and_summary(face: Face) -> None:
    """With the shapes that the schema promises."""
    job, attempt = face.world.running()
    face.world.end(attempt, EndCause.PROGRAM_FAILED, exit_code=3, rank=0, node="n1", now=at(9))
    body = face.get(f"jobs/{job.id}").json()
    assert set(body["attempt"]) == keys_of(shapes.AttemptShape)
    assert set(body["summary"]) == keys_of(shapes.SummaryShape)
    assert set(body["reason"]) == keys_of(shapes.ReasonShape)
    assert body["reason"]["code"] == "program_failed"
    assert body["reason"]["text"] == "Worker 0 on node n1 left with exit code 3."
    assert body["attempt"]["placement"] == [{"rank": 0, "node": "n1", "devices": [0, 1, 2, 3]}]
    assert body["summary"]["run_seconds"] == 9.0


def test_lists_have_the_same_shape(face: Face) -> None:
    """Without document and summary."""
    face.submit()
    page = face.get("jobs").json()
    assert set(page) == {"results", "next"}
    assert set(page["results"][0]) == keys_of(shapes.JobShape)


def test_parts_of_a_job_have_their_shapes(face: Face) -> None:
    """Attempts, events, explanation, numbers, log."""
    job, attempt = face.world.running()
    expected = {
        "attempts": shapes.AttemptShape,
        "events": shapes.EventShape,
    }
    for part, shape in expected.items():
        assert set(face.get(f"jobs/{job.id}/{part}").json()["results"][0]) == keys_of(shape)
    assert set(face.get(f"jobs/{job.id}/explain").json()) == keys_of(shapes.ExplanationShape)
    assert set(face.get(f"jobs/{job.id}/metrics").json()) == keys_of(shapes.MetricsShape)
    assert set(face.get(f"jobs/{job.id}/logs").json()) == keys_of(shapes.LogShape)
    assert attempt.number == 1


def test_events_tell_the_story_in_sentences(face: Face) -> None:
    """With the names of those who acted."""
    job, attempt = face.world.running()
    face.post(f"jobs/{job.id}/cancel", who="team_admin")
    face.world.end(attempt, EndCause.STOPPED)
    told = face.get(f"jobs/{job.id}/events").json()["results"]
    assert [event["kind"] for event in told] == [
        "submitted",
        "placed",
        "started",
        "stop_ordered",
        "cancelled",
    ]
    assert told[0]["text"] == "Submitted by owner to queue a with priority 200."
    assert told[1]["text"] == "Attempt 1 got 4 accelerators on n1."
    assert told[4]["text"] == "Cancelled by team-admin."
    assert [event["seq"] for event in face.get(f"jobs/{job.id}/events", after=3).json()["results"]] == [4, 5]


def test_the_same_in_chinese_once_it_is_translated(face: Face) -> None:
    """The language is the reader's, also in refusals; without a translation the English sentence stays."""
    job = face.submit()
    answer = face.client().get(f"/api/v1/jobs/{job['id']}/events", headers={"Accept-Language": "zh-hans"})
    assert answer.status_code == 200
    assert answer.json()["results"][0]["text"]


@pytest.mark.parametrize(
    "part", ["", "/attempts", "/events", "/checkpoints", "/outputs", "/explain", "/metrics", "/logs"]
)
def test_another_teams_job_and_none_at_all_are_the_same_404(face: Face, part: str) -> None:
    """Whatever part of it is asked for; the two answers differ in the id alone."""
    job = face.submit()
    theirs = face.get(f"jobs/{job['id']}{part}", "outsider")
    nothing = face.get(f"jobs/{'0' * 8}-0000-0000-0000-{'0' * 12}{part}", "outsider")
    assert theirs.status_code == nothing.status_code == 404
    assert set(theirs.json()) == set(nothing.json())
    assert theirs.json()["code"] == "not_found"
    for who in ("teammate", "viewer", "team_admin", "platform_admin"):
        assert face.get(f"jobs/{job['id']}{part}", who).status_code == 200


@pytest.mark.parametrize("act", ["cancel", "hold", "release", "clone"])
def test_strangers_get_404_and_viewers_403(face: Face, act: str) -> None:
    """For every act."""
    job = face.submit()
    assert face.post(f"jobs/{job['id']}/{act}", who="outsider").status_code == 404
    if act == "clone":
        return
    for who in ("viewer", "teammate"):
        assert face.post(f"jobs/{job['id']}/{act}", who=who).status_code == 403


def test_nobody_gets_401(face: Face, client: Any) -> None:
    """In our shape."""
    answer = client.get("/api/v1/jobs")
    assert (answer.status_code, set(answer.json())) == (
        401,
        {"code", "message", "params", "details", "request_id"},
    )


def test_viewers_may_not_submit(face: Face) -> None:
    """403, not 404: they see the queue."""
    assert face.post("jobs", document(), "viewer").status_code == 403


def test_a_cancel_is_202_then_200_and_changes_nothing_more(face: Face) -> None:
    """PC02: distinct from running at once, the repeat says that it is already stopping."""
    job, attempt = face.world.running()
    first = face.post(f"jobs/{job.id}/cancel")
    assert (first.status_code, first.json()["state"], first.json()["intent"]) == (202, "stopping", "cancel")
    assert set(first.json()) == keys_of(shapes.ActionShape)
    second = face.post(f"jobs/{job.id}/cancel")
    assert (second.status_code, second.json()["notice"]) == (200, "It is already stopping.")
    face.world.end(attempt, EndCause.STOPPED)
    third = face.post(f"jobs/{job.id}/cancel")
    assert (third.status_code, third.json()["state"], third.json()["changed_by"]) == (
        200,
        "cancelled",
        "owner",
    )
    assert third.json()["reason"]["text"] == "Cancelled by owner."


def test_an_ended_job_refuses_a_cancel_with_its_state(face: Face) -> None:
    """409 with a sentence."""
    job, attempt = face.world.running()
    face.world.end(attempt)
    answer = face.post(f"jobs/{job.id}/cancel")
    assert (answer.status_code, answer.json()["code"]) == (409, "wrong_state")
    assert "succeeded" in answer.json()["message"]


def test_hold_release_priority_delete(face: Face) -> None:
    """The other acts, one after the other."""
    job = face.submit()
    assert face.post(f"jobs/{job['id']}/hold").json()["state"] == "held"
    assert face.post(f"jobs/{job['id']}/release").json()["state"] == "queued"
    assert face.patch(f"jobs/{job['id']}", {"priority": "high"}).json()["priority"] == 300
    assert face.delete(f"jobs/{job['id']}").status_code == 409
    face.post(f"jobs/{job['id']}/cancel")
    assert face.delete(f"jobs/{job['id']}").status_code == 204
    assert face.get(f"jobs/{job['id']}").status_code == 404
    assert face.delete(f"jobs/{job['id']}").status_code == 404


@pytest.mark.parametrize(
    "body", [{}, {"priority": 1001}, {"priority": None}, {"priority": "x"}, {"name": "x"}, [], "x", 7]
)
def test_a_bad_change_is_422(face: Face, body: object) -> None:
    """And changes nothing."""
    job = face.submit()
    assert face.patch(f"jobs/{job['id']}", body).status_code == 422
    assert face.get(f"jobs/{job['id']}").json()["priority"] == 200


def test_a_clone_is_the_callers_own(face: Face) -> None:
    """Three in a row without editing, each with the same name."""
    job = face.submit(code=None)
    for _time in range(3):
        answer = face.post(f"jobs/{job['id']}/clone", who="teammate")
        assert answer.status_code == 201
        job = answer.json()
        assert (job["name"], job["owner"]) == ("微调 7B 第一次", "teammate")
    assert Job.objects.count() == 4


def test_yaml_and_json_make_the_same_job(face: Face) -> None:
    """Under both names of YAML."""
    yaml = "name: 微调\nqueue: a\nrun: python a.py\nresources: {accelerators: 4}\n"
    for kind in ("application/yaml", "application/x-yaml", "application/yaml; charset=utf-8"):
        answer = face.client().post("/api/v1/jobs", yaml.encode(), content_type=kind)
        assert answer.status_code == 201, answer.content
    face.submit(name="微调", run="python a.py")
    specs = [job.spec for job in Job.objects.all()]
    assert len(specs) == 4
    assert all(spec == specs[0] for spec in specs)


def archive() -> io.BytesIO:
    """A good archive of code."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as packed:
        packed.writestr("代码/训练.py", "print('hi')\n")
    body.seek(0)
    body.name = "code.zip"
    return body


@pytest.mark.parametrize("as_file", [True, False])
def test_a_form_carries_document_and_code(face: Face, as_file: bool) -> None:
    """The document as a text or as a file."""
    text = json.dumps(document(code="."))
    spec: Any = io.BytesIO(text.encode()) if as_file else text
    answer = face.client().post("/api/v1/jobs", {"spec": spec, "code": archive()}, format="multipart")
    assert answer.status_code == 201, answer.content
    assert Job.objects.get().code is not None
    assert answer.json()["spec"]["code"] == str(Job.objects.get().code_id)


def test_a_bad_archive_starts_no_job(face: Face) -> None:
    """Refused as a whole."""
    bad = io.BytesIO(b"not an archive")
    bad.name = "code.zip"
    answer = face.client().post(
        "/api/v1/jobs", {"spec": json.dumps(document()), "code": bad}, format="multipart"
    )
    assert (answer.status_code, answer.json()["code"]) == (422, "archive_refused")
    assert not Job.objects.exists()


def test_filters_and_search(face: Face) -> None:
    """Each alone and together."""
    one = face.submit()
    two = face.submit("teammate", name="实验🚀-Ä")
    face.submit("outsider", queue="b")
    force_state(Job.objects.get(id=two["id"]), State.FAILED)

    def ids(**params: Any) -> list[str]:
        return [job["id"] for job in face.get("jobs", **params).json()["results"]]

    assert ids() == [two["id"], one["id"]] or ids() == [one["id"], two["id"]]
    assert ids(state="failed") == [two["id"]]
    assert set(ids(state=["failed", "queued"])) == {one["id"], two["id"]}
    assert ids(owner="teammate") == [two["id"]]
    assert ids(mine="1") == [one["id"]]
    assert ids(search="微调") == [one["id"]]
    assert ids(search=two["id"]) == [two["id"]]
    assert ids(search="%") == []
    assert ids(queue="b") == []
    assert set(ids(queue="a", team="team-a")) == {one["id"], two["id"]}
    assert len(face.get("jobs", "platform_admin").json()["results"]) == 3


def test_pages_follow_each_other(face: Face) -> None:
    """Every job once."""
    made = {face.submit()["id"] for _job in range(5)}
    seen: list[str] = []
    answer = face.get("jobs", limit=2)
    while True:
        body = answer.json()
        seen += [job["id"] for job in body["results"]]
        if body["next"] is None:
            break
        answer = face.client().get(body["next"])
    assert (len(seen), set(seen)) == (5, made)


def queries(face: Face, path: str) -> int:
    """How many queries one request takes, once its token was used."""
    face.get(path)
    with CaptureQueriesContext(connection) as captured:
        assert face.get(path).status_code == 200
    return len(captured)


def test_a_list_takes_a_fixed_number_of_queries(face: Face) -> None:
    """However many jobs with attempts it shows."""
    face.world.running()
    few = queries(face, "jobs")
    for _number in range(12):
        _job, attempt = face.world.running(node="n2")
        face.world.end(attempt, EndCause.PROGRAM_FAILED, exit_code=1)
    assert queries(face, "jobs") == few == 3


@pytest.mark.parametrize("path", ["queues", "cluster/nodes"])
def test_other_lists_take_a_fixed_number_too(face: Face, path: str) -> None:
    """Also with many jobs behind them."""
    few = queries(face, path)
    for _job in range(5):
        face.world.running()
    assert queries(face, path) <= few + 1


def test_an_unchanged_job_is_304(face: Face) -> None:
    """Until something of it changes."""
    job = face.submit()
    tag = face.get(f"jobs/{job['id']}")["ETag"]
    path = f"/api/v1/jobs/{job['id']}"
    assert face.client().get(path, headers={"If-None-Match": tag}).status_code == 304
    face.post(f"jobs/{job['id']}/hold")
    assert face.client().get(path, headers={"If-None-Match": tag}).status_code == 200


def test_a_waiting_job_says_why_and_who_is_ahead(face: Face) -> None:
    """With the numbers of its queue."""
    face.world.queue_a.limit_milli = 4000
    face.world.queue_a.save()
    face.world.running()
    ahead = face.world.submit()
    job = face.world.submit(now=at(5))
    run_tick(now=at(6))
    body = face.get(f"jobs/{job.id}/explain").json()
    assert body["reason"]["code"] == "limit_now"
    assert (body["reason"]["params"]["used"], body["reason"]["params"]["limit"]) == (4, 4)
    assert body["reason"]["text"].startswith("Queue a has used up its quota: 4 of 4 accelerators are in use")
    assert (body["ahead"], body["queue"]) == (1, {"path": "a", "used": 4, "guarantee": 4, "limit": 4})
    assert face.get(f"jobs/{ahead.id}/explain").json()["ahead"] == 0


def test_validate_predicts_without_storing(face: Face) -> None:
    """Starts now; waits and why; or what is wrong."""
    good = face.post("jobs/validate", document()).json()
    assert set(good) == keys_of(shapes.PreviewShape)
    assert set(good["predicted"]) == keys_of(shapes.PredictionShape)
    assert (good["valid"], good["predicted"]["starts_now"]) == (True, True)
    large = face.post("jobs/validate", document(workers=9)).json()
    assert (large["valid"], large["predicted"]["starts_now"]) == (True, False)
    assert large["predicted"]["reason"]["code"] == "never_fits"
    bad = face.post("jobs/validate", document(workers=0, colour="red")).json()
    assert (bad["valid"], bad["predicted"]) == (False, None)
    assert [detail["path"] for detail in bad["details"]] == ["colour", "workers"]
    assert not Job.objects.exists()
    assert not Attempt.objects.exists()


def test_validate_counts_the_jobs_that_are_there(face: Face) -> None:
    """A copy of the live snapshot plus this job."""
    face.world.running()
    face.world.running(node="n2")
    answer = face.post("jobs/validate", document()).json()["predicted"]
    assert (answer["starts_now"], answer["predicted_start"]) == (False, None)
    assert answer["reason"]["code"] in ("no_capacity", "share")


def test_the_schema_of_a_job_is_published(face: Face) -> None:
    """For editors and other clients."""
    assert face.get("schema/job").json()["title"] == "Gangline job"


def test_a_job_that_is_repeated_after_a_failure_says_until_when_it_waits(face: Face) -> None:
    """Not that nothing is known."""
    _job, attempt = face.world.running(limits={"retries": 3})
    job = face.world.end(attempt, EndCause.PROGRAM_FAILED, exit_code=1)
    Job.objects.filter(id=job.id).update(not_before="2099-01-01T00:00:00Z")
    reason = face.get(f"jobs/{job.id}").json()["reason"]
    assert reason["code"] == "backoff"
    assert "its program failed" in reason["text"]
    face.world.report(attempt, ReportKind.RUNNING)
