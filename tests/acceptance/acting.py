"""What the acceptance tests do through the public API, and what they look for among the processes."""

import io
import tarfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.support.platform import LivePlatform, wait_until

PROGRAMS = Path(__file__).parent / "programs"
ENDED = ("succeeded", "failed", "cancelled")
Json = dict[str, Any]


def archive(*names: str) -> bytes:
    """A code archive with these files of `programs/`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name in names:
            tar.add(PROGRAMS / name, arcname=name)
    return buffer.getvalue()


def submit(client: httpx.Client, *, code: bytes | None = None, **document: Any) -> Json:
    """Submit a job of `research` (4 accelerators, one worker, no retries unless said) and return it."""
    body: Json = {
        "name": "acceptance",
        "queue": "research",
        "resources": {"accelerators": 4},
        "limits": {"retries": 0, "node_retries": 0, "grace": "5s"},
        **document,
    }
    if code is None:
        answer = client.post("jobs", json=body)
    else:
        files = {"code": ("code.tar.gz", code, "application/gzip")}
        answer = client.post("jobs", data={"spec": _yaml(body)}, files=files)
    assert answer.status_code == 201, answer.text
    job: Json = answer.json()
    return job


def _yaml(body: Mapping[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(dict(body), allow_unicode=True)


def job(client: httpx.Client, job_id: str) -> Json:
    """The job as it is now."""
    answer = client.get(f"jobs/{job_id}")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def wait_state(client: httpx.Client, job_id: str, *states: str, seconds: float = 60) -> Json:
    """Wait until the job is in one of these states. An ending that was not asked for fails at once."""

    def there() -> Json | None:
        now = job(client, job_id)
        if now["state"] in states:
            return now
        assert now["state"] not in ENDED, f"ended as {now['state']}: {now['reason']}, {now['attempt']}"
        return None

    found = wait_until(there, seconds=seconds, what=f"job {job_id} is {' or '.join(states)}")
    assert found is not None
    return found


def wait_step(client: httpx.Client, job_id: str, step: int, *, seconds: float = 120) -> int:
    """Wait until the job has completed this many steps; how many it has."""
    return wait_until(
        lambda: (done := job(client, job_id)["step"] or 0) >= step and done,
        seconds=seconds,
        what=f"job {job_id} completes {step} steps",
    )


def events(client: httpx.Client, job_id: str) -> list[Json]:
    """Every event of the job, oldest first."""
    found: list[Json] = []
    url: str | None = f"jobs/{job_id}/events"
    while url:
        page = client.get(url).json()
        found += page["results"]
        url = page["next"]
    return sorted(found, key=lambda event: int(event["seq"]))


def attempts(client: httpx.Client, job_id: str) -> list[Json]:
    """Every attempt of the job, oldest first."""
    found: list[Json] = client.get(f"jobs/{job_id}/attempts").json()["results"]
    return sorted(found, key=lambda attempt: int(attempt["number"]))


def log_bytes(client: httpx.Client, job_id: str, *, attempt: int = 1, rank: int = 0) -> bytes:
    """One worker's whole log."""
    answer = client.get(f"jobs/{job_id}/logs", params={"attempt": attempt, "rank": rank, "download": 1})
    return answer.content if answer.status_code == 200 else b""


def losses(client: httpx.Client, job_id: str) -> dict[int, float]:
    """Step to loss, of the surviving history."""
    answer = client.get(f"jobs/{job_id}/metrics", params={"names": "loss", "max_points": 5000})
    series = answer.json()["series"].get("loss", [])
    return {int(step): float(value) for step, value, _at in series}


def queue(client: httpx.Client, path: str) -> Json:
    """One queue with its numbers."""
    found: Json = client.get(f"queues/{path}").json()
    return found


def nodes(client: httpx.Client) -> dict[str, Json]:
    """The nodes by name."""
    return {node["name"]: node for node in client.get("cluster/nodes").json()["results"]}


@contextmanager
def only_nodes(platform: LivePlatform, *usable: str) -> Iterator[None]:
    """Cordon every other node while the block runs."""
    with platform.client() as admin:
        others = [name for name in nodes(admin) if name not in usable]
        for name in others:
            assert admin.post(f"nodes/{name}/cordon", json={"reason": "acceptance"}).status_code == 200
        try:
            yield
        finally:
            for name in others:
                admin.post(f"nodes/{name}/uncordon")


def processes_with(variable: str, value: str) -> list[psutil.Process]:
    """Every process of this machine whose environment has `variable=value`."""
    wanted = f"{variable}={value}".encode()
    found = []
    for process in psutil.process_iter():
        try:
            environ = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if wanted in environ and process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def processes_of(job_id: str) -> list[psutil.Process]:
    """Every process that belongs to the job."""
    return processes_with("GANGLINE_JOB_ID", job_id)


def clear(client: httpx.Client) -> None:
    """Cancel whatever this user's teams still have under way, and wait until it is gone."""
    for state in ("queued", "held", "starting", "running", "stopping"):
        for found in client.get("jobs", params={"state": state}).json()["results"]:
            client.post(f"jobs/{found['id']}/cancel")
    wait_until(
        lambda: not [one for one in client.get("jobs").json()["results"] if one["state"] not in ENDED],
        seconds=60,
        what="nothing is under way any more",
    )


def stays(check: Any, *, seconds: float, every: float = 0.2) -> None:
    """Assert that `check()` holds at every look during this time (the time is what the case asks for)."""
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        check()
        time.sleep(every)
