"""How well run times are told from history: Philly, each job predicted from those that had ended before.

Told at the submission: who waits for how long depends on the policy, and this is about predictions alone.
"""

from collections.abc import Sequence
from pathlib import Path

from scheduling.prediction import Features, History, calibration, replay
from scheduling.simulation.philly import read
from scheduling.simulation.report import Row

QUANTILES = (0.25, 0.5, 0.75, 0.9)


def rows(traces: Path, *, quantiles: Sequence[float] = QUANTILES, max_jobs: int | None = None) -> list[Row]:
    """For each nominal quantile the share of run times that stayed at or below it, and how far off it was."""
    jobs = [
        (
            job.submitted_ms,
            Features(user=job.user, queue=job.user, num_devices=job.num_devices),
            job.runtime_ms,
        )
        for job in read(traces)[:max_jobs]
    ]
    found = []
    for told in calibration(replay(jobs, History(), quantiles=quantiles)):
        name = f"of run times at or below the {told.quantile:g} quantile"
        found.append(_row(f"share {name}", told.share_below, ""))
        found.append(
            _row(f"mean error of the {told.quantile:g} quantile", told.mean_abs_log2_error, "octaves")
        )
    return found


def _row(metric: str, value: float, unit: str) -> Row:
    return Row(work="prediction", policy="history", metric=metric, value=value, unit=unit)
