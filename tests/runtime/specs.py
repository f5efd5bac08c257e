"""LaunchSpecs for tests."""

import uuid
from pathlib import Path
from typing import Any

from ray_runtime.protocol import LaunchSpec, WorkerSlot, attempt_token
from tests.runtime.fake_portal import SECRET


def a_spec(command: str | None, *, nodes: list[str], checkpoints: Path, **changes: Any) -> LaunchSpec:
    """One worker per entry of `nodes`, one slot each."""
    attempt_id = str(uuid.uuid4())
    used: dict[str, int] = {}
    workers = []
    for rank, node in enumerate(nodes):
        workers.append(WorkerSlot(rank=rank, node=node, devices=(used.get(node, 0),)))
        used[node] = used.get(node, 0) + 1
    values: dict[str, Any] = {
        "job_id": str(uuid.uuid4()),
        "job_name": "a job",
        "attempt_id": attempt_id,
        "attempt_number": 1,
        "token": attempt_token(SECRET, attempt_id),
        "workers": tuple(workers),
        "accelerators_milli": 1000,
        "accelerator_type": "slot",
        "cpus_milli": 0,
        "memory_bytes": 0,
        "command": command,
        "checkpoint_dir": str(checkpoints / "job"),
        "grace_seconds": 5.0,
    }
    return LaunchSpec(**(values | changes))
