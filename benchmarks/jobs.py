"""Jobs as the benches submit and time them, through the public API alone."""

from datetime import datetime
from typing import Any

import httpx

from tests.support.platform import wait_until

ENDED = ("succeeded", "failed", "cancelled")
Json = dict[str, Any]


def submit(client: httpx.Client, **document: Any) -> Json:
    """Submit a job of `research` that is never retried."""
    body = {"name": "bench", "queue": "research", "limits": {"retries": 0, "node_retries": 0, "grace": "30s"}}
    answer = client.post("jobs", json=body | document)
    answer.raise_for_status()
    job: Json = answer.json()
    return job


def wait_for(client: httpx.Client, job_id: str, *states: str, seconds: float = 120) -> Json:
    """Wait until the job is in one of these states."""

    def there() -> Json | None:
        job: Json = client.get(f"jobs/{job_id}").json()
        if job["state"] not in states and job["state"] in ENDED:
            raise RuntimeError(f"job {job_id} ended as {job['state']}: {job['attempt']}")
        return job if job["state"] in states else None

    job = wait_until(there, seconds=seconds, what=f"{job_id} is {states}", every=0.02)
    assert job is not None
    return job


def cancel(client: httpx.Client, job_id: str) -> None:
    """Cancel it and wait until its devices are free."""
    client.post(f"jobs/{job_id}/cancel").raise_for_status()
    wait_for(client, job_id, "cancelled")


def first_step_at(client: httpx.Client, job_id: str) -> float:
    """Unix time of the first step that the job reported, by its own clock (the same machine's)."""

    def reported() -> float | None:
        answer = client.get(f"jobs/{job_id}/metrics", params={"names": "loss", "max_points": 2000}).json()
        series = answer["series"].get("loss", [])
        return float(series[0][2]) / 1000 if series else None

    at = wait_until(reported, seconds=180, what="the first step is reported")
    assert at is not None
    return at


def unix(text: str) -> float:
    """An ISO time of the API as Unix time."""
    return datetime.fromisoformat(text).timestamp()
