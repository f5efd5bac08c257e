"""Case PC05: whatever a job ends by, its quota comes back."""

from collections.abc import Callable

import httpx
import pytest

from tests.acceptance.acting import (
    Json,
    job,
    only_nodes,
    processes_of,
    queue,
    stays,
    submit,
    wait_state,
)
from tests.support.platform import LivePlatform, wait_until

pytestmark = [pytest.mark.platform, pytest.mark.timeout(900)]
QUEUE = "research/quarter"
LIVE = ("starting", "running", "stopping")


@pytest.fixture
def quarter(admin: httpx.Client, member: httpx.Client) -> str:
    """A queue of the team with a limit of exactly 4."""
    body = {"path": QUEUE, "team": "research", "guarantee": 0, "limit": 4}
    assert admin.post("queues", json=body).status_code in (201, 409)
    return QUEUE


def test_quota_comes_back_after_every_way_to_end(
    live_platform: LivePlatform, member: httpx.Client, quarter: str
) -> None:
    """Nine endings, then again after a restart of the portal: used is 0 afterwards and a probe starts."""
    _series(live_platform, member, list(ENDINGS))
    live_platform.restart_child("portal")
    _series(live_platform, member, [name for name in ENDINGS if name != "loss of its node"])


def test_a_job_beyond_the_quota_waits_and_says_so(
    member: httpx.Client, admin: httpx.Client, quarter: str
) -> None:
    """Four of four in use: the second names queue and numbers. A lower limit stops nothing."""
    first = submit(member, queue=quarter, run="sleep 600")
    wait_state(member, first["id"], "running")
    second = submit(member, queue=quarter, run="true")
    reason = wait_until(lambda: job(member, second["id"])["reason"], seconds=20, what="a reason is given")
    assert reason["code"] == "limit_now"
    assert all(word in reason["text"] for word in (quarter, "4")), reason["text"]
    assert admin.get("cluster/utilisation").json()["free"] >= 4

    assert admin.patch(f"queues/{quarter}", json={"limit": 2}).status_code == 200
    stays(lambda: _over_its_limit(member, first["id"], second["id"]), seconds=4)
    assert member.post(f"jobs/{first['id']}/cancel").status_code in (200, 202)
    wait_state(member, first["id"], "cancelled")
    stays(lambda: _waits(member, second["id"]), seconds=3)
    assert admin.patch(f"queues/{quarter}", json={"limit": 4}).status_code == 200
    wait_state(member, second["id"], "succeeded", seconds=30)


def _over_its_limit(client: httpx.Client, running: str, waiting: str) -> None:
    seen = queue(client, QUEUE)
    assert (seen["used"], seen["limit"]) == (4, 2)
    assert job(client, running)["state"] == "running"
    _waits(client, waiting)


def _waits(client: httpx.Client, job_id: str) -> None:
    assert job(client, job_id)["state"] == "queued"


def _series(platform: LivePlatform, client: httpx.Client, names: list[str]) -> None:
    for name in names:
        ENDINGS[name](platform, client)
        _used_returns_to_nothing(client, name)
        probe = submit(client, queue=QUEUE, run="true", name="probe")
        ended = wait_state(client, probe["id"], "running", "succeeded", seconds=10)
        assert ended["state"] in ("running", "succeeded"), name
        wait_state(client, probe["id"], "succeeded")


def _used_returns_to_nothing(client: httpx.Client, name: str) -> None:
    wait_until(lambda: queue(client, QUEUE)["used"] == 0, seconds=10, what=f"used is 0 after: {name}")
    stays(lambda: _sums_up(client), seconds=1.5)


def _sums_up(client: httpx.Client) -> None:
    used = queue(client, QUEUE)["used"]
    assert 0 <= used <= 4
    live: list[Json] = [
        one for one in client.get("jobs", params={"queue": QUEUE}).json()["results"] if one["state"] in LIVE
    ]
    assert used == sum(one["accelerators_total"] for one in live)


def _exits(code: int, state: str) -> Callable[[LivePlatform, httpx.Client], None]:
    def end(_platform: LivePlatform, client: httpx.Client) -> None:
        made = submit(client, queue=QUEUE, run=f"exit {code}")
        ended = wait_state(client, made["id"], state)
        assert ended["attempt"]["exit_code"] in (code, None if code == 0 else code)

    return end


def _cancelled_while_waiting(_platform: LivePlatform, client: httpx.Client) -> None:
    holder = submit(client, queue=QUEUE, run="sleep 600")
    wait_state(client, holder["id"], "running")
    waiting = submit(client, queue=QUEUE, run="true")
    _cancel(client, waiting["id"])
    assert job(client, waiting["id"])["num_attempts"] == 0
    _cancel(client, holder["id"])


def _cancelled_at_its_start(_platform: LivePlatform, client: httpx.Client) -> None:
    made = submit(client, queue=QUEUE, run="sleep 600")
    wait_until(lambda: job(client, made["id"])["state"] != "queued", seconds=10, every=0.02, what="it starts")
    _cancel(client, made["id"])
    wait_until(lambda: not processes_of(made["id"]), seconds=10, what="no process of it is left")


def _cancelled_while_running(_platform: LivePlatform, client: httpx.Client) -> None:
    made = submit(client, queue=QUEUE, run="sleep 600")
    wait_state(client, made["id"], "running")
    _cancel(client, made["id"])


def _over_its_time(_platform: LivePlatform, client: httpx.Client) -> None:
    made = submit(
        client, queue=QUEUE, run="sleep 600", limits={"max_runtime": "2s", "grace": "1s", "retries": 0}
    )
    assert wait_state(client, made["id"], "failed", seconds=30)["cause"] == "time_limit"


def _loses_its_node(platform: LivePlatform, client: httpx.Client) -> None:
    with only_nodes(platform, "n4"):
        made = submit(client, queue=QUEUE, run="sleep 600")
        wait_state(client, made["id"], "running")
        with platform.held_down("ray-n4"):
            assert wait_state(client, made["id"], "failed", seconds=30)["cause"] == "node_lost"
    with platform.client() as admin:
        wait_until(
            lambda: all(node["state"] == "ready" for node in admin.get("cluster/nodes").json()["results"]),
            seconds=90,
            what="every node is back",
        )


def _cannot_start(_platform: LivePlatform, client: httpx.Client) -> None:
    made = submit(client, queue=QUEUE, run="/no/such/program --at-all")
    failed = wait_state(client, made["id"], "failed")
    assert failed["attempt"]["exit_code"] == 127 or failed["cause"] == "start_failed"


def _record_deleted(_platform: LivePlatform, client: httpx.Client) -> None:
    made = submit(client, queue=QUEUE, run="true")
    wait_state(client, made["id"], "succeeded")
    assert client.delete(f"jobs/{made['id']}").status_code in (200, 204)
    assert client.get(f"jobs/{made['id']}").status_code == 404


def _cancel(client: httpx.Client, job_id: str) -> None:
    assert client.post(f"jobs/{job_id}/cancel").status_code in (200, 202)
    wait_state(client, job_id, "cancelled", seconds=20)


ENDINGS: dict[str, Callable[[LivePlatform, httpx.Client], None]] = {
    "exit 0": _exits(0, "succeeded"),
    "exit 1": _exits(1, "failed"),
    "cancelled while waiting": _cancelled_while_waiting,
    "cancelled at its start": _cancelled_at_its_start,
    "cancelled while running": _cancelled_while_running,
    "time limit": _over_its_time,
    "loss of its node": _loses_its_node,
    "cannot start": _cannot_start,
    "record deleted": _record_deleted,
}
