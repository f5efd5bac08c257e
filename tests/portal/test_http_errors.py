"""One shape for every error, and no bad input that is a 500."""

from typing import Any

import pytest
from django.test import Client

from portal import dispatch, login_guard
from tests.jobs.builders import World
from tests.portal.asgi_client import Connection
from tests.portal.conftest import bearer

SHAPE = {"code", "message", "params", "details", "request_id"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("get", "/api/v1/nothing", 404, "not_found"),
        ("get", "/api/v1/jobs/00000000-0000-0000-0000-000000000000", 404, "not_found"),
        ("put", "/api/v1/jobs", 405, "method_not_allowed"),
        ("get", "/api/v1/jobs?search=%00", 422, "invalid"),
        ("get", "/api/v1/jobs/%00", 422, "invalid"),
    ],
)
def test_every_error_has_the_one_shape(world: World, method: str, path: str, status: int, code: str) -> None:
    """Ours, REST framework's and Django's."""
    answer = getattr(Client(), method)(path, headers=bearer(world.cast.owner))
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert set(answer.json()) == SHAPE
    assert answer.headers["X-Request-Id"] == answer.json()["request_id"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"name": "\\u0000", "queue": "a", "run": "x"}',
        b'{"name": "\\ud800", "queue": "a", "run": "x"}',
        b'{"name": "x", "queue": "a", "run": "\\ud800"}',
        b'{"name": "x", "queue": "a", "run": "x", "workers": 1e400}',
        b'{"name": "x", "queue": "a", "run": "x", "workers": ' + b"9" * 5000 + b"}",
        b'{"name": "x", "queue": "a\\u0000", "run": "x"}',
        b"null",
        b"NaN",
    ],
    ids=str,
)
def test_no_body_is_a_500(world: World, body: bytes) -> None:
    """Whatever it holds, the answer says that the caller must change it."""
    answer = Client(raise_request_exception=False).post(
        "/api/v1/jobs", body, "application/json", headers=bearer(world.cast.owner)
    )
    assert 400 <= answer.status_code < 500, answer.content
    assert set(answer.json()) == SHAPE


@pytest.mark.django_db
def test_without_a_user_it_is_401_with_a_challenge(world: World) -> None:
    """A client learns how to log in."""
    answer = Client().get("/api/v1/jobs")
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.django_db
def test_the_message_is_in_the_callers_language(world: World) -> None:
    """The code is for programs, the message for people."""
    headers = {**bearer(world.cast.owner), "Accept-Language": "zh-Hans"}
    german = {**bearer(world.cast.owner), "Accept-Language": "de"}
    chinese = Client().get("/api/v1/jobs/00000000-0000-0000-0000-000000000000", headers=headers).json()
    english = Client().get("/api/v1/jobs/00000000-0000-0000-0000-000000000000", headers=german).json()
    assert chinese["code"] == english["code"]
    assert any("一" <= letter <= "鿿" for letter in chinese["message"])
    assert english["message"].isascii() or "“" in english["message"]


@pytest.mark.django_db
def test_a_page_that_is_not_there_is_a_page(world: World) -> None:
    """People get a page, not JSON; it has no inline script."""
    answer = Client().get("/no-such-page")
    assert answer.status_code == 404
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]


@pytest.mark.django_db
def test_passwords_cannot_be_guessed_fast(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """After some failures even the right password must wait."""
    monkeypatch.setattr(login_guard, "MAX_FAILURES", 3)
    client = Client()

    def log_in(password: str) -> Any:
        return client.post("/login", {"username": world.cast.owner.username, "password": password})

    assert [log_in("wrong").status_code for _ in range(3)] == [200, 200, 200]
    answer = log_in("wrong")
    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == "300"


async def test_a_body_without_a_length_is_cut_at_the_limit() -> None:
    """413 as soon as too much has come, and nothing of it is kept."""
    mebibyte = b"x" * 2**20
    connection = Connection(
        dispatch.application, "/api/v1/jobs", headers={"Content-Type": "application/json"}, method="POST"
    ).open(mebibyte for _ in range(258))
    assert await connection.status() == 413
    assert (await connection.json())["code"] == "too_large"


async def test_a_declared_length_beyond_the_limit_is_refused_unread() -> None:
    """Not a byte of the body need come."""
    headers = {"Content-Type": "application/json", "Content-Length": str(2**40)}
    connection = Connection(dispatch.application, "/api/v1/jobs", headers=headers, method="POST").open([])
    assert await connection.status() == 413
