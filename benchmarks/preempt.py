"""From the order to leave until the devices are free, with the state saved at the present step."""

import time

import httpx

from benchmarks.figures import Figure, over_runs
from benchmarks.jobs import cancel, submit, unix, wait_for
from tests.support.platform import LivePlatform, wait_until

RUNS = 3
# About 16.8 million weights with AdamW's two moments in FP32: 200 MB of state.
PARAMS = {
    "steps": 5000,
    "layers": 5,
    "hidden": 512,
    "heads": 8,
    "context": 32,
    "global_batch": 4,
    "micro_batch": 1,
}


def measure(platform: LivePlatform) -> list[Figure]:
    """A job on every device is preempted by an urgent one of its own queue."""
    with platform.client(platform.person("member")) as client:
        told, cancelled = [], []
        for _ in range(RUNS):
            told.append(_preempted(client))
            cancelled.append(_cancelled(client))
    return [
        over_runs(
            told,
            bench="preempt",
            name="preempt order to devices free, 200 MB state saved, 4 workers",
            unit="s",
            bar=1.5,
            peer="Slurm requeue 0.7 s, nothing saved (measured earlier)",
        ),
        over_runs(cancelled, bench="preempt", name="cancel to devices free, 1 command", unit="s", bar=0.2),
    ]


def _preempted(client: httpx.Client) -> float:
    victim = submit(
        client, workers=4, recipe="gpt-pretrain", params=PARAMS, resources={"accelerators": 4}, priority="low"
    )
    wait_until(
        lambda: (client.get(f"jobs/{victim['id']}").json()["step"] or 0) >= 3, seconds=180, what="it trains"
    )
    urgent = submit(client, run="sleep 600", resources={"accelerators": 4}, priority="urgent")
    wait_for(client, urgent["id"], "running")
    attempts = client.get(f"jobs/{victim['id']}/attempts").json()["results"]
    ended = min(attempts, key=lambda attempt: int(attempt["number"]))
    client.post(f"jobs/{victim['id']}/cancel").raise_for_status()
    cancel(client, urgent["id"])
    wait_for(client, victim["id"], "cancelled")
    return unix(ended["ended_at"]) - unix(ended["stop_ordered_at"])


def _cancelled(client: httpx.Client) -> float:
    job = submit(client, run="sleep 600", resources={"accelerators": 1})
    wait_for(client, job["id"], "running")
    asked_at = time.time()
    client.post(f"jobs/{job['id']}/cancel").raise_for_status()
    return unix(wait_for(client, job["id"], "cancelled")["attempt"]["ended_at"]) - asked_at
