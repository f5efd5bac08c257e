"""PC08: however often and however fast the same submission comes, it is one job."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections
from django.test import Client

from jobs.models import Job
from portal import idempotency
from portal.models import IdempotentAnswer
from tests.jobs.builders import World, document
from tests.portal.conftest import bearer

K1 = {"Idempotency-Key": "key-1"}


def submit(headers: dict[str, str], **changes: Any) -> Any:
    """POST a job."""
    return Client().post("/api/v1/jobs", json.dumps(document(**changes)), "application/json", headers=headers)


def in_threads(work: Callable[[], Any], *, times: int) -> list[Any]:
    """Call `work` so many times at once; the answers."""

    def work_and_let_go() -> Any:
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(times) as pool:
        return [future.result() for future in [pool.submit(work_and_let_go) for _ in range(times)]]


@pytest.mark.django_db(transaction=True)
def test_five_at_once_are_one_job(committed_world: World) -> None:
    """Every answer is accepted and names the same job; all but one say that they repeat an answer."""
    headers = {**bearer(committed_world.cast.owner), **K1}
    answers = in_threads(lambda: submit(headers), times=5)
    assert [answer.status_code for answer in answers] == [HTTPStatus.CREATED] * 5
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum("Idempotent-Replayed" in answer.headers for answer in answers) == 4
    assert Job.objects.count() == 1


@pytest.mark.django_db
def test_the_same_later_is_the_same_answer(world: World) -> None:
    """Letter for letter, though the job has moved on."""
    headers = {**bearer(world.cast.owner), **K1}
    first = submit(headers)
    Job.objects.update(priority=7)
    second = submit(headers)
    assert (second.status_code, second.content) == (first.status_code, first.content)
    assert second.headers["Content-Type"] == first.headers["Content-Type"]


@pytest.mark.django_db
def test_another_body_under_the_same_key_is_refused(world: World) -> None:
    """It creates nothing and says what to do."""
    headers = {**bearer(world.cast.owner), **K1}
    submit(headers)
    answer = submit(headers, run="python other.py")
    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert answer.json()["code"] == "idempotency_key_reused"
    assert Job.objects.count() == 1


@pytest.mark.django_db
def test_without_a_key_each_is_a_job_of_its_own(world: World) -> None:
    """Two submissions without a key are two jobs."""
    headers = bearer(world.cast.owner)
    assert submit(headers).json()["id"] != submit(headers).json()["id"]


@pytest.mark.django_db
def test_a_key_is_its_users_own(world: World) -> None:
    """A teammate who chose the same key gets a job, not somebody else's answer."""
    owners = submit({**bearer(world.cast.owner), **K1})
    mates = submit({**bearer(world.cast.teammate), **K1})
    assert owners.json()["id"] != mates.json()["id"]


@pytest.mark.django_db
def test_a_refused_request_leaves_its_key_free(world: World) -> None:
    """Whoever corrects the document need not invent a new key; nothing of the refused one remains."""
    headers = {**bearer(world.cast.owner), **K1}
    assert submit(headers, queue="nowhere").status_code in (404, 422)
    assert not IdempotentAnswer.objects.exists()
    assert submit(headers).status_code == HTTPStatus.CREATED


@pytest.mark.django_db
def test_a_wrong_token_is_told_nothing(world: World) -> None:
    """An answer is replayed to its user alone."""
    submit({**bearer(world.cast.owner), **K1})
    answer = submit({"Authorization": "Bearer glt_wrong", **K1})
    assert answer.status_code == HTTPStatus.UNAUTHORIZED


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["x" * 201, "a\tb"])
def test_an_impossible_key_is_refused(world: World, key: str) -> None:
    """Before any work."""
    answer = submit({**bearer(world.cast.owner), "Idempotency-Key": key})
    assert (answer.status_code, answer.json()["code"]) == (HTTPStatus.BAD_REQUEST, "malformed")
    assert not Job.objects.exists()


@pytest.mark.django_db
def test_an_upload_is_known_by_its_parts(world: World) -> None:
    """A client's multipart boundary is random: the same upload has other bytes around the same parts."""
    headers = {**bearer(world.cast.owner), **K1}

    def upload(content: bytes, boundary: str) -> Any:
        body = _multipart(boundary, content)
        kind = f"multipart/form-data; boundary={boundary}"
        return Client().post("/api/v1/jobs", body, content_type=kind, headers=headers)

    first, again = upload(ARCHIVE, "one"), upload(ARCHIVE, "two")
    assert first.status_code == HTTPStatus.CREATED, first.content
    assert again.json()["id"] == first.json()["id"]
    assert upload(ARCHIVE + b"\0", "three").status_code == HTTPStatus.UNPROCESSABLE_ENTITY


@pytest.mark.django_db
def test_a_tokens_secret_is_not_kept(world: World) -> None:
    """The repeat is told that the secret was shown; the table does not have it."""
    headers = {**bearer(world.cast.owner), **K1}
    body = json.dumps({"name": "for CI"})
    first = Client().post("/api/v1/tokens", body, "application/json", headers=headers)
    assert first.status_code == HTTPStatus.CREATED
    again = Client().post("/api/v1/tokens", body, "application/json", headers=headers)
    assert again.status_code == HTTPStatus.CONFLICT
    assert "glt_" not in IdempotentAnswer.objects.get().body


@pytest.mark.django_db(transaction=True)
def test_a_request_does_not_wait_for_ever(committed_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another request works on the same key for too long, the answer is: come again."""
    monkeypatch.setattr(idempotency, "WAIT_SECONDS", 1)
    headers = {**bearer(committed_world.cast.owner), **K1}
    user_id = committed_world.cast.owner.pk
    with connections["default"].cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute(
            "INSERT INTO portal_idempotentanswer"
            " (user_id, key, request_sha256, status, content_type, location, body, created_at)"
            " VALUES (%s, 'key-1', '', 0, '', '', '', now())",
            [user_id],
        )
        (answer,) = in_threads(lambda: submit(headers), times=1)
        cursor.execute("ROLLBACK")
    assert (answer.status_code, answer.json()["code"]) == (HTTPStatus.CONFLICT, "still_running")
    assert answer.headers["Retry-After"] == "5"


def _multipart(boundary: str, content: bytes) -> bytes:
    spec = json.dumps(document(code="."))
    file = SimpleUploadedFile("code.zip", content)
    lines = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="spec"\r\n\r\n{spec}\r\n'.encode(),
        f'--{boundary}\r\nContent-Disposition: form-data; name="code"; filename="{file.name}"\r\n'.encode(),
        b"Content-Type: application/zip\r\n\r\n" + content + b"\r\n",
        f"--{boundary}--\r\n".encode(),
    ]
    return b"".join(lines)


def _archive() -> bytes:
    import io
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("train.py", "print('hello')\n")
    return buffer.getvalue()


ARCHIVE = _archive()
