"""The client: trying again without doing twice, languages, pages, and where the token may go."""

import threading
import uuid

import pytest

from gangline.client import Portal
from gangline.config import Profile, load_profile
from gangline.errors import BadUsage, NotReachable, Refused
from gangline.language import accept_language
from tests.cli.conftest import Command
from tests.cli.recording_portal import DROP_CONNECTION, Answer, RecordingPortal, page, refusal


def client(portal: RecordingPortal, *, patience_seconds: float = 10) -> Portal:
    """A client of the portal with a token."""
    return Portal(Profile(portal.url, "glt_x"), patience_seconds=patience_seconds)


def test_a_lost_answer_is_asked_for_again_with_the_same_key(portal: RecordingPortal) -> None:
    """The portal handled the first try; only the key tells it that the second is the same request."""
    portal.on("POST", "jobs", Answer(None, DROP_CONNECTION), Answer({"id": "1"}, 201))
    assert client(portal).post("jobs", {"name": "x"}) == {"id": "1"}
    first, second = portal.of("POST", "jobs")
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.body == second.body


def test_two_calls_have_two_keys(portal: RecordingPortal) -> None:
    """Else the second job would be taken for the first."""
    portal.on("POST", "jobs", {"id": "1"})
    for _ in range(2):
        client(portal).post("jobs", {"name": "x"})
    first, second = portal.of("POST", "jobs")
    assert uuid.UUID(first.headers["idempotency-key"]) != uuid.UUID(second.headers["idempotency-key"])


def test_a_login_is_sent_once_and_without_a_key(portal: RecordingPortal) -> None:
    """Nothing that carries a password may be kept for replay."""
    portal.on("POST", "login", Answer(None, DROP_CONNECTION))
    with pytest.raises(NotReachable):
        client(portal).post_once("login", {"password": "p"})
    (only,) = portal.of("POST", "login")
    assert "idempotency-key" not in only.headers


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_trouble_that_passes_is_waited_out(portal: RecordingPortal, status: int) -> None:
    """A proxy in front of a portal that restarts, or a limit on the rate."""
    portal.on("GET", "me", refusal("busy", "Busy.", status), {"username": "wei"})
    assert client(portal).get("me") == {"username": "wei"}


def test_a_request_still_worked_on_is_waited_for_as_long_as_the_portal_says(portal: RecordingPortal) -> None:
    """Although our own patience is shorter than that."""
    busy = refusal("still_running", "Still running.", 409)
    portal.on("POST", "jobs", Answer(busy.body, 409, {"Retry-After": "1"}), {"id": "1"})
    assert client(portal, patience_seconds=0.5).post("jobs", {}) == {"id": "1"}


def test_a_plain_conflict_is_told_at_once(portal: RecordingPortal) -> None:
    """It does not pass by waiting."""
    portal.on("POST", "jobs/1/release", refusal("conflict", "It is not held.", 409))
    with pytest.raises(Refused, match="not held"):
        client(portal).post("jobs/1/release")
    assert len(portal.requests) == 1


def test_a_portal_that_comes_back_in_time_is_found(portal: RecordingPortal) -> None:
    """The user hears once that we wait."""
    portal.on("GET", "me", {"username": "wei"})
    portal.stop()
    heard: list[str] = []
    restart = threading.Timer(0.5, portal.start)
    restart.start()
    with Portal(Profile(portal.url), patience_seconds=10, on_trouble=heard.append) as patient:
        assert patient.get("me") == {"username": "wei"}
    restart.join()
    assert len(heard) == 1


def test_of_the_next_page_only_the_query_is_used(portal: RecordingPortal) -> None:
    """The portal may know itself by another name, and the token goes to our address alone."""
    second = "http://internal.example/api/v1/jobs?cursor=abc&state=queued"
    portal.on("GET", "jobs", {"results": [{"id": 1}], "next": second}, page({"id": 2}))
    assert list(client(portal).pages("jobs", state="queued")) == [{"id": 1}, {"id": 2}]
    assert portal.requests[1].query == {"cursor": ["abc"], "state": ["queued"]}


@pytest.mark.parametrize(
    ("environ", "header"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh-CN, zh;q=0.9, en;q=0.5"),
        ({"LANG": "de_DE", "LC_ALL": "C"}, "en"),
        ({"LANG": "de_DE", "LC_MESSAGES": "zh_TW"}, "zh-TW, zh;q=0.9, en;q=0.5"),
        ({}, "en"),
    ],
)
def test_messages_are_asked_for_in_the_language_of_the_terminal(environ: dict[str, str], header: str) -> None:
    """By the usual precedence of the locale's variables."""
    assert accept_language(environ) == header


def test_the_saved_token_is_not_sent_to_another_address(gangline: Command, portal: RecordingPortal) -> None:
    """GANGLINE_URL alone must not carry a secret to whatever it names."""
    portal.on("GET", "me", {"username": "wei", "teams": []})
    assert gangline("login", portal.url, "--token", "glt_secret").code == 0
    saved = load_profile({"HOME": _home()})
    assert saved == Profile(portal.url, "glt_secret")
    assert load_profile({"HOME": _home(), "GANGLINE_URL": "http://other:1"}).token is None


def _home() -> str:
    import os

    return os.environ["HOME"]


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_an_infinite_number_is_refused_before_anything_is_sent(
    portal: RecordingPortal, number: float
) -> None:
    """JSON has no such numbers: the user is told, and the portal is not asked."""
    for call in (client(portal).post, client(portal).patch, client(portal).post_once):
        with pytest.raises(BadUsage, match="finite"):
            call("queues/product", {"guarantee": number})
    assert portal.of("POST", "queues/product") == portal.of("PATCH", "queues/product") == []
