"""Case PC02: cancelling takes the whole tree of processes, and no line is lost."""

import re
import time

import httpx
import pytest

from tests.acceptance.acting import (
    archive,
    events,
    job,
    log_bytes,
    only_nodes,
    processes_with,
    submit,
    wait_state,
)
from tests.support.platform import LivePlatform, wait_until

pytestmark = [pytest.mark.platform, pytest.mark.timeout(300)]
MARKER = "ACCEPTANCE_MARKER"


def test_cancel_ends_every_process_before_the_next_job_gets_the_slots(
    live_platform: LivePlatform, member: httpx.Client
) -> None:
    """Stopping is shown at once, a repeat changes nothing, the tree is gone, then the next job starts."""
    marker = f"stubborn-{time.time_ns()}"
    with only_nodes(live_platform, "n1"):
        stubborn = submit(
            member,
            code=archive("stubborn.py"),
            run="python3 stubborn.py",
            environment={"variables": {MARKER: marker}},
        )
        wait_state(member, stubborn["id"], "running")
        wait_until(lambda: len(processes_with(MARKER, marker)) >= 4, seconds=30, what="the whole tree runs")
        successor = submit(member, run="sleep 600")

        asked_at = time.monotonic()
        assert member.post(f"jobs/{stubborn['id']}/cancel").status_code in (200, 202)
        assert time.monotonic() - asked_at <= 2
        assert job(member, stubborn["id"])["state"] == "stopping"
        repeat = member.post(f"jobs/{stubborn['id']}/cancel")
        assert repeat.status_code in (200, 202)
        assert repeat.json()["state"] == "stopping"

        while processes_with(MARKER, marker):
            assert time.monotonic() - asked_at <= 10, "marked processes are left"
            if processes_with(MARKER, marker):
                assert job(member, successor["id"])["state"] in ("queued", "starting")
                assert not processes_with("GANGLINE_JOB_ID", successor["id"])
            time.sleep(0.1)

        done = wait_state(member, stubborn["id"], "cancelled", seconds=10)
        assert done["finished_at"] is not None
        cancelled_by = [event["actor"] for event in events(member, stubborn["id"]) if event["actor"]]
        assert live_platform.person("member").username in cancelled_by
        wait_state(member, successor["id"], "running", seconds=10)
        assert job(member, stubborn["id"])["state"] == "cancelled"
        _log_is_whole(member, stubborn["id"])


def _log_is_whole(client: httpx.Client, job_id: str) -> None:
    text = log_bytes(client, job_id).decode()
    numbers = [int(number) for number in re.findall(r"^line (\d+)$", text, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    after = [int(number) for number in re.findall(r"^line (\d+)$", text.split("BYE-1")[-1], re.MULTILINE)]
    assert "BYE-1" in text
    assert len(after) >= 10, "it went on counting for its grace period, and those lines are there"
