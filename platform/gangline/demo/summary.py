"""The table at the end of the demo."""

from collections.abc import Sequence

from gangline.demo.evidence import Json, Record
from gangline.demo.verdict import mean_losses
from gangline.render import Column
from gangline.units import duration

COLUMNS = (
    Column("JOB", lambda row: row["name"]),
    Column("STATE", lambda row: row["state"]),
    Column("STEPS", lambda row: row["steps"], right=True),
    Column("LOSS", lambda row: row["loss"], right=True),
    Column("WAITED", lambda row: row["waited"], right=True),
    Column("ATTEMPTS", lambda row: row["attempts"], right=True),
    Column("MFU", lambda row: row["mfu"], right=True),
    Column("RAN", lambda row: row["ran"], right=True),
)


def summary_rows(records: Sequence[Record]) -> list[Json]:
    """One row per job, as texts."""
    return [_row(record) for record in records]


def _row(record: Record) -> Json:
    summary, means = record.job.get("summary") or {}, mean_losses(record)
    mfu = summary.get("mfu")
    return {
        "name": record.job["name"],
        "state": record.job["state"],
        "steps": f"{record.job['step']}/{record.job['total_steps']}",
        "loss": "" if means is None else f"{means[0]:.3f} to {means[1]:.3f}",
        "waited": duration(summary.get("wait_seconds")),
        "attempts": len(record.attempts),
        "mfu": "" if mfu is None else f"{100 * mfu:.2f} %",
        "ran": duration(summary.get("run_seconds")),
    }
