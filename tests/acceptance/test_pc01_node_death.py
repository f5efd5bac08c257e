"""Case PC01: a node dies without a word."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx
import psutil
import pytest

from tests.acceptance.acting import (
    archive,
    attempts,
    job,
    log_bytes,
    nodes,
    only_nodes,
    processes_of,
    queue,
    stays,
    submit,
    wait_state,
)
from tests.support.platform import LivePlatform, wait_until

pytestmark = [pytest.mark.platform, pytest.mark.timeout(400)]


def test_a_node_that_dies_is_named_and_its_job_leaves_nothing_behind(
    live_platform: LivePlatform, member: httpx.Client, admin: httpx.Client
) -> None:
    """The gang fails naming the node, its survivor goes, the waiting job starts, the node comes back."""
    code = archive("ticking.py")
    with only_nodes(live_platform, "n1", "n2"):
        gang = submit(member, code=code, workers=2, run="python3 ticking.py")
        wait_state(member, gang["id"], "running")
        waiting = submit(member, code=code, run="python3 ticking.py 50")
        ranks = {slot["node"]: slot["rank"] for slot in attempts(member, gang["id"])[0]["placement"]}
        assert set(ranks) == {"n1", "n2"}
        wait_until(
            lambda: all(log_bytes(member, gang["id"], rank=rank) for rank in ranks.values()),
            seconds=30,
            what="both workers have logged",
        )
        assert job(member, waiting["id"])["state"] == "queued"

        cut_at = time.time()
        with _cut_off(live_platform, "n2"):
            failed = wait_state(member, gang["id"], "failed", seconds=20)
            assert "n2" in failed["reason"]["text"]
            end = attempts(member, gang["id"])[0]
            assert (end["end_cause"], end["failed_node"], end["exit_code"]) == ("node_lost", "n2", None)
            started = wait_state(member, waiting["id"], "running", "succeeded", seconds=10)
            assert {slot["node"] for slot in started["attempt"]["placement"]} == {"n1"}
            assert processes_of(gang["id"]) == []
            wait_until(
                lambda: nodes(admin)["n2"]["state"] == "unreachable",
                seconds=max(1.0, cut_at + 25 - time.time()),
                what="n2 is shown as down within 25 s of the cut",
            )
            assert admin.get("cluster/utilisation").json()["accelerators_total"] == 12
            wait_state(member, waiting["id"], "succeeded", seconds=30)
            assert queue(member, "research")["used"] == 0

        wait_until(lambda: nodes(admin)["n2"]["state"] == "ready", seconds=90, what="n2 is back")
        stays(lambda: _still_gone(member, gang["id"]), seconds=3)
        again = submit(member, workers=2, run="true")
        assert wait_state(member, again["id"], "succeeded")["attempt"]["end_cause"] == "completed"
        _log_reaches(member, gang["id"], rank=ranks["n2"], cut_at=cut_at)


@contextmanager
def _cut_off(platform: LivePlatform, node: str) -> Iterator[None]:
    """A power loss: every process of the node is killed at once, and nothing starts it again meanwhile."""
    doomed = platform.processes(f"ray-{node}")
    with platform.held_down(f"ray-{node}"):
        for process in doomed:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        yield


def _still_gone(client: httpx.Client, job_id: str) -> None:
    assert job(client, job_id)["state"] == "failed"
    assert processes_of(job_id) == []


def _log_reaches(client: httpx.Client, job_id: str, *, rank: int, cut_at: float) -> None:
    """No line is missing, and the last one is no older than 3 s before the cut."""
    lines = re.findall(r"^(\d+) ([\d.]+)$", log_bytes(client, job_id, rank=rank).decode(), re.MULTILINE)
    assert [int(number) for number, _ in lines] == list(range(1, len(lines) + 1))
    assert float(lines[-1][1]) >= cut_at - 3
