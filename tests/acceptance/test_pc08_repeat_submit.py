"""Case PC08: submitting again is one job. (The double click in the browser is in `tests/e2e`.)"""

import json
import socket
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.acceptance.acting import clear, queue
from tests.support.platform import LivePlatform, wait_until

pytestmark = [pytest.mark.platform, pytest.mark.timeout(300)]


def _body(name: str, run: str) -> dict[str, Any]:
    return {"name": name, "queue": "research", "resources": {"accelerators": 1}, "run": run}


def test_one_key_is_one_job_whatever_happens(live_platform: LivePlatform, member: httpx.Client) -> None:
    """Answer dropped, five at once, another body, no key, and after a restart of the portal."""
    key, name = f"key-{uuid.uuid4()}", f"once-{uuid.uuid4()}"
    body = _body(name, "sleep 600")

    _send_and_hang_up(live_platform, key=key, body=body)
    first = wait_until(lambda: _found(member, name), seconds=20, what="the job was accepted")
    assert len(first) == 1

    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(lambda _: _post(member, body, key=key), range(5)))
    assert {answer.status_code for answer in answers} == {201}, [answer.text for answer in answers]
    assert {answer.json()["id"] for answer in answers} == {first[0]}

    other = _post(member, _body(name, "sleep 601"), key=key)
    assert 400 <= other.status_code < 500
    assert other.json()["message"]
    assert _found(member, name) == first

    keyless = _body(f"twice-{uuid.uuid4()}", "true")
    assert _post(member, keyless).json()["id"] != _post(member, keyless).json()["id"]

    live_platform.restart_child("portal")
    assert _post(member, body, key=key).json()["id"] == first[0]
    assert _found(member, name) == first
    wait_until(lambda: queue(member, "research")["used"] == 1, seconds=30, what="it is charged once")
    clear(member)
    assert queue(member, "research")["used"] == 0


def _post(client: httpx.Client, body: dict[str, Any], *, key: str | None = None) -> httpx.Response:
    headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
    return client.post("jobs", content=json.dumps(body), headers=headers)


def _found(client: httpx.Client, name: str) -> list[str]:
    results = client.get("jobs", params={"search": name}).json()["results"]
    return [one["id"] for one in results if one["name"] == name]


def _send_and_hang_up(platform: LivePlatform, *, key: str, body: dict[str, Any]) -> None:
    """A client whose connection breaks after the server has the request and before it has the answer."""
    address = urlsplit(platform.url)
    payload = json.dumps(body).encode()
    head = (
        f"POST /api/v1/jobs HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {platform.person('member').token}\r\nIdempotency-Key: {key}\r\n"
        f"Content-Length: {len(payload)}\r\n\r\n"
    )
    assert address.hostname and address.port
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.sendall(head.encode() + payload)
        connection.recv(1)  # the answer is on its way: the work is done, and we never read it
