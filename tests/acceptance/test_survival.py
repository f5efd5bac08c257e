"""Parts of the platform die while jobs run; no outcome changes and nothing is lost."""

import re
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.acceptance.acting import (
    Json,
    archive,
    attempts,
    job,
    log_bytes,
    losses,
    processes_of,
    submit,
    wait_state,
    wait_step,
)
from tests.support.platform import LivePlatform, wait_until

pytestmark = [pytest.mark.platform, pytest.mark.timeout(600)]

SMALL_GPT = {"layers": 2, "hidden": 64, "heads": 2, "context": 64, "global_batch": 8, "micro_batch": 4}


def _train(client: httpx.Client, *, steps: int, workers: int = 2) -> Json:
    return submit(
        client,
        workers=workers,
        recipe="gpt-pretrain",
        params={**SMALL_GPT, "steps": steps},
        checkpoint={"every": "5 steps"},
        limits={"retries": 3, "node_retries": 3, "grace": "20s"},
    )


def _ends_well(client: httpx.Client, made: Json, *, steps: int) -> Json:
    ended = wait_state(client, made["id"], "succeeded", seconds=240)
    wait_until(
        lambda: sorted(losses(client, made["id"])) == list(range(1, steps + 1)),
        seconds=20,
        what="every step's loss is there once",
    )
    assert processes_of(made["id"]) == []
    return ended


def test_the_portal_may_die_without_a_line_or_an_outcome_lost(
    live_platform: LivePlatform, member: httpx.Client
) -> None:
    """Killed mid-run and away for some seconds: one attempt, every line of every worker exactly once."""
    made = submit(member, code=archive("counting.py"), workers=2, run="python3 counting.py 100")
    wait_state(member, made["id"], "running")
    wait_until(lambda: b"line 20\n" in log_bytes(member, made["id"]), seconds=30, what="it has logged")
    with live_platform.held_down("portal"):
        away_until = time.monotonic() + 3
        wait_until(lambda: time.monotonic() > away_until, seconds=10, what="the portal was away for 3 s")
    ended = wait_state(member, made["id"], "succeeded", seconds=60)
    assert ended["num_attempts"] == 1
    wanted = "".join(f"line {number}\n" for number in range(1, 101)).encode()
    wait_until(
        lambda: [log_bytes(member, made["id"], rank=rank) for rank in (0, 1)] == [wanted, wanted],
        seconds=20,
        what="the whole log of both workers",
    )


def test_a_killed_worker_leads_to_a_resumed_gang(live_platform: LivePlatform, member: httpx.Client) -> None:
    """kill -9 of one rank: the gang starts again from its checkpoint, and the history has each step once."""
    made = _train(member, steps=150)
    saved = wait_until(lambda: job(member, made["id"])["saved_at"], seconds=120, what="a whole checkpoint")
    assert saved
    _rank(made["id"], 1).kill()
    wait_until(lambda: job(member, made["id"])["num_attempts"] == 2, seconds=60, what="a second attempt")
    ended = _ends_well(member, made, steps=150)
    first, second = attempts(member, made["id"])
    assert (first["end_cause"], ended["retries_used"]) == ("program_failed", 1)
    assert second["resumed_step"] >= 5


def test_the_conductor_may_die_and_training_does_not_notice(
    live_platform: LivePlatform, member: httpx.Client
) -> None:
    """Killed mid-run: the same processes train on to the end in the same attempt, and orders flow again."""
    made = _train(member, steps=80)
    wait_step(member, made["id"], 5)
    before = {process.pid for process in processes_of(made["id"])}
    conductor = _conductor(live_platform)
    conductor.kill()
    killed_at = time.monotonic()
    other = submit(member, run="true", resources={"accelerators": 1})
    wait_state(member, other["id"], "succeeded", seconds=60)
    assert time.monotonic() - killed_at < 60
    left = {process.pid for process in processes_of(made["id"])}
    assert not left or left <= before, "no process of the job was started anew"
    ended = _ends_well(member, made, steps=80)
    assert ended["num_attempts"] == 1


def test_celery_may_die_between_commit_and_effect(
    live_platform: LivePlatform, member: httpx.Client, tmp_path: Path
) -> None:
    """The deciding worker is killed again and again while jobs come in: each is launched exactly once."""
    tmp_path.chmod(0o777)
    ran = tmp_path / "ran"
    made = []
    for number in range(9):
        made.append(
            submit(
                member,
                name=f"once {number}",
                resources={"accelerators": 1},
                run=f"echo {number} >> {ran}",
            )
        )
        if number % 3 == 2:
            for name in ("tick", "worker"):
                live_platform.restart_child(name)
    for one in made:
        assert wait_state(member, one["id"], "succeeded", seconds=120)["num_attempts"] == 1
    assert sorted(int(line) for line in ran.read_text().split()) == list(range(9))


def test_the_ray_head_may_die_while_jobs_run_and_wait(
    live_platform: LivePlatform, member: httpx.Client, record_property: Any
) -> None:
    """Killed and started again: the waiting job starts, the running one goes on, no retry is used up."""
    running = _train(member, steps=150, workers=4)
    waiting = submit(member, run="true", limits={"retries": 0, "node_retries": 0})
    wait_step(member, running["id"], 10)
    assert job(member, waiting["id"])["state"] == "queued"
    killed_at = time.monotonic()
    live_platform.restart_child("ray-head")
    small = submit(member, run="true", resources={"accelerators": 0})
    wait_state(member, small["id"], "succeeded", seconds=120)
    record_property("seconds_until_orders_flow", round(time.monotonic() - killed_at, 1))
    ended = _ends_well(member, running, steps=150)
    assert (ended["retries_used"], ended["node_retries_used"]) == (0, 0)
    done = wait_state(member, waiting["id"], "succeeded", seconds=120)
    assert (done["retries_used"], done["node_retries_used"]) == (0, 0)
    wait_until(lambda: _nodes_ready(live_platform), seconds=120, what="every node is ready again")


def _nodes_ready(platform: LivePlatform) -> bool:
    with platform.client() as admin:
        results = admin.get("cluster/nodes").json()["results"]
    return all(node["state"] == "ready" for node in results)


def _rank(job_id: str, rank: int) -> psutil.Process:
    """The process of this rank that does the work: the youngest with its rank in the environment."""
    found = [
        process
        for process in processes_of(job_id)
        if f"RANK={rank}".encode() in Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
    ]
    return max(found, key=lambda process: process.create_time())


def _conductor(platform: LivePlatform) -> psutil.Process:
    """The conductor's process, wherever Ray has put it."""
    for name in platform.children():
        if name.startswith("ray-"):
            for process in platform.processes(name, matching="onductor"):
                if re.search(r"ray::\S*onductor", " ".join(process.cmdline())):
                    return process
    raise AssertionError("there is no conductor")
