"""PC08 at the level of the API: a key of the caller's choice makes one job, whatever is sent again."""

import json
import threading
from typing import Any

from django.db import connections
from rest_framework.test import APIClient

from jobs.models import Job
from tests.api.faces import Face
from tests.jobs.builders import document


def submit(face: Face, body: object, key: str | None) -> Any:
    """One submission under a key, or under none."""
    return face.post("jobs", body, **({"Idempotency-Key": key} if key else {}))


def test_one_key_is_one_job(face: Face) -> None:
    """The same answer again; another body is refused; without a key each is a job of its own."""
    first = submit(face, document(), "K1")
    assert first.status_code == 201
    again = [submit(face, document(), "K1") for _time in range(3)]
    assert {answer.json()["id"] for answer in again} == {first.json()["id"]}
    other = submit(face, document(run="other"), "K1")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert Job.objects.count() == 1
    assert submit(face, document(), None).json()["id"] != submit(face, document(), None).json()["id"]
    assert Job.objects.count() == 3


def test_a_refused_submission_leaves_its_key_free(face: Face) -> None:
    """Mended under the same key it is accepted."""
    assert submit(face, document(workers=0), "K1").status_code == 422
    assert submit(face, document(), "K1").status_code == 201
    assert Job.objects.count() == 1


def test_a_key_is_its_users_own(face: Face) -> None:
    """Two people with one key make two jobs."""
    submit(face, document(), "K1")
    face.post("jobs", document(), "teammate", **{"Idempotency-Key": "K1"})
    assert Job.objects.count() == 2


def test_five_at_once_under_one_key_are_one_job(committed_face: Face) -> None:
    """Each accepted answer carries the same id."""
    credentials = committed_face.client()._credentials  # type: ignore[attr-defined]  # the token that it made
    barrier = threading.Barrier(5)
    answers: list[Any] = []

    def send() -> None:
        client = APIClient()
        client.credentials(**credentials)
        barrier.wait(timeout=20)
        answers.append(
            client.post(
                "/api/v1/jobs",
                json.dumps(document()),
                content_type="application/json",
                headers={"Idempotency-Key": "K1"},
            )
        )
        connections.close_all()

    threads = [threading.Thread(target=send) for _number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    accepted = [answer.json()["id"] for answer in answers if answer.status_code < 300]
    assert accepted
    assert (len(set(accepted)), Job.objects.count()) == (1, 1)
    assert all(answer.status_code in (201, 409) for answer in answers)
