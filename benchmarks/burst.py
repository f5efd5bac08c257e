"""A hundred one-worker commands submitted at once: how many are running per second."""

import time
from concurrent.futures import ThreadPoolExecutor

import httpx

from benchmarks.figures import Figure
from benchmarks.jobs import ENDED, submit, unix
from tests.support.platform import LivePlatform, wait_until

COMMANDS = 100
CLIENTS = 8
PEER = "Slurm 70 starts/s; Ray Jobs 0.4-0.8/s (measured earlier, other runs)"


def measure(platform: LivePlatform) -> list[Figure]:
    """From the first submit to the last `running`, and from the last submit alone; no accelerators asked."""
    with platform.client(platform.person("member")) as client:
        began = time.time()
        with ThreadPoolExecutor(CLIENTS) as pool:
            made = list(pool.map(lambda _: _submit_one(client), range(COMMANDS)))
        accepted = time.time()
        running = [_running_at(client, job_id) for job_id in made]
        _cancel_all(client, made)
    last = max(running)
    return [
        Figure(
            bench="burst",
            name=f"{COMMANDS} commands, first submit to last running",
            value=COMMANDS / (last - began),
            unit="jobs/s",
            bar=50,
            at_least=True,
            peer=PEER,
        ),
        Figure(
            bench="burst",
            name="accepted by the API",
            value=COMMANDS / (accepted - began),
            unit="jobs/s",
        ),
        Figure(
            bench="burst",
            name="running, from the first start to the last",
            value=COMMANDS / max(last - min(running), 0.001),
            unit="jobs/s",
        ),
    ]


def _submit_one(client: httpx.Client) -> str:
    return str(submit(client, run="sleep 600", resources={"accelerators": 0})["id"])


def _running_at(client: httpx.Client, job_id: str) -> float:
    def known() -> float | None:
        attempt = client.get(f"jobs/{job_id}").json()["attempt"]
        return unix(attempt["running_at"]) if attempt and attempt["running_at"] else None

    at = wait_until(known, seconds=240, what=f"{job_id} has run")
    assert at is not None
    return at


def _cancel_all(client: httpx.Client, made: list[str]) -> None:
    for job_id in made:
        client.post(f"jobs/{job_id}/cancel").raise_for_status()
    wait_until(
        lambda: all(_has_ended(client, job_id) for job_id in made), seconds=120, what="all are cancelled"
    )


def _has_ended(client: httpx.Client, job_id: str) -> bool:
    return client.get(f"jobs/{job_id}").json()["state"] in ENDED
