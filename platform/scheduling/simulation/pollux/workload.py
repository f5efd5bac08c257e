"""The jobs of one workload, read from its file."""

import csv
from collections.abc import Mapping
from pathlib import Path

from scheduling.simulation.pollux.profiles import Application
from scheduling.simulation.pollux.training import SINGLE_DEVICE, TrainingJob

RIGID_BATCH = 32768  # of those that never adapt


def load_jobs(
    path: Path,
    applications: Mapping[str, Application],
    *,
    adapts: bool,
    restart_s: int = 30,
    arrival_scale: float = 1.0,
) -> list[TrainingJob]:
    """The jobs in the file's order, which is that of submission. `adapts`: they choose their batch sizes."""
    with path.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    jobs = []
    for row in rows:
        is_rigid = row["application"] in SINGLE_DEVICE
        batch = RIGID_BATCH if is_rigid else int(row["batch_size"])
        jobs.append(
            TrainingJob(
                row["name"],
                applications[row["application"]],
                submitted_at_s=round(int(row["time"]) / arrival_scale),
                num_wanted=int(row["num_replicas"]),
                fixed_batch=batch if is_rigid or not adapts else None,
                restart_s=restart_s,
            )
        )
    return jobs
