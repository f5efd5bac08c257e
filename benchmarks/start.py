"""From the API's submit to running and to the first training step; beside torchrun and Ray Train V2."""

import time

import httpx

from benchmarks import peers
from benchmarks.figures import Figure, over_runs
from benchmarks.jobs import cancel, first_step_at, submit, unix, wait_for
from tests.support.platform import LivePlatform

RUNS = 5
TRAINING_RUNS = 3
WORKERS = 4
PARAMS = {
    "steps": 500,
    "layers": 2,
    "hidden": 64,
    "heads": 2,
    "context": 64,
    "global_batch": 16,
    "micro_batch": 4,
}


def measure(platform: LivePlatform) -> list[Figure]:
    """One command to running; four workers to their first step, ours and the peers' in turn."""
    with platform.client(platform.person("member")) as client:
        running = [_command_to_running(client) for _ in range(RUNS)]
        ours, torchrun, ray_train = [], [], []
        _training_to_first_step(client)  # the text is tokenised and cached once, for everybody
        for _ in range(TRAINING_RUNS):
            ours.append(_training_to_first_step(client))
            torchrun.append(peers.torchrun_first_step(PARAMS, workers=WORKERS))
            ray_train.append(peers.ray_train_first_step(PARAMS, workers=WORKERS))
    return [
        over_runs(running, bench="start", name="submit to running, 1 worker", unit="s", bar=0.2),
        over_runs(ours, bench="start", name="submit to first step, 4 workers", unit="s"),
        over_runs(torchrun, bench="start", name="torchrun: start to first step, 4 workers", unit="s"),
        over_runs(ray_train, bench="start", name="Ray Train V2: fit() to first step, 4 workers", unit="s"),
        _ratio("of torchrun's time to first step", ours, torchrun, bar=0.3),
        _ratio("of Ray Train V2's time to first step", ours, ray_train, bar=0.12),
    ]


def _ratio(name: str, ours: list[float], peer: list[float], *, bar: float) -> Figure:
    ratios = [mine / other for mine, other in zip(ours, peer, strict=True)]
    return over_runs(ratios, bench="start", name=name, unit="x", bar=bar)


def _command_to_running(client: httpx.Client) -> float:
    """By the platform's own clock: from the job's submission to the gang's start as reported."""
    job = submit(client, run="sleep 600", resources={"accelerators": 1})
    running = wait_for(client, job["id"], "running")
    seconds = unix(running["attempt"]["running_at"]) - unix(running["submitted_at"])
    cancel(client, job["id"])
    return seconds


def _training_to_first_step(client: httpx.Client) -> float:
    asked_at = time.time()
    job = submit(client, workers=WORKERS, recipe="gpt-pretrain", params=PARAMS, resources={"accelerators": 4})
    seconds = first_step_at(client, job["id"]) - asked_at
    cancel(client, job["id"])
    return seconds
