"""Which of a job's values are shown, in lists and alone."""

from typing import Any

from gangline.render import Column
from gangline.sight import Sight
from gangline.units import age, amount, duration, moment, size
from gangline.words import say

Json = dict[str, Any]


def short_id(job: Json) -> str:
    """The first part of a job's id, enough to name it in a command."""
    return str(job["id"])[:8]


def progress(job: Json) -> str:
    """Steps completed of steps to do."""
    if not job.get("total_steps"):
        return amount(job.get("step"))
    return f"{job.get('step') or 0}/{job['total_steps']}"


def shape(job: Json) -> str:
    """Workers times accelerators of each."""
    return f"{job['workers']} x {amount(job['resources'].get('accelerators') or 0)}"


def result(job: Json) -> str:
    """What an ended job came to, in one line."""
    summary = job.get("summary") or {}
    parts = []
    if summary.get("loss_first") is not None and summary.get("loss_last") is not None:
        parts.append(
            say(
                "loss {first} to {last}",
                first=f"{summary['loss_first']:.4f}",
                last=f"{summary['loss_last']:.4f}",
            )
        )
    if summary.get("mfu") is not None:
        parts.append(f"MFU {100 * summary['mfu']:.2f} %")
    if summary.get("wait_seconds") is not None:
        parts.append(say("waited {time}", time=duration(summary["wait_seconds"])))
    if summary.get("run_seconds") is not None:
        parts.append(say("ran {time}", time=duration(summary["run_seconds"])))
    return ", ".join(parts)


def _where(job: Json) -> str:
    placement = (job.get("attempt") or {}).get("placement") or ()
    return ", ".join(say("{node} {devices} (rank {rank})", **slot) for slot in placement)


def _help(job: Json) -> str:
    return str((job.get("reason") or {}).get("help") or "")


def _resources(job: Json) -> str:
    resources = job["resources"]
    cpus, memory = resources.get("cpus"), resources.get("memory_bytes")
    parts = [
        shape(job),
        say("{number} CPUs", number=amount(cpus)) if cpus else "",
        size(memory) if memory else "",
    ]
    return ", ".join(part for part in parts if part)


JOB_TABLE = (
    Column("ID", short_id),
    Column("NAME", lambda job: job["name"]),
    Column("STATE", lambda job: job["state"]),
    Column("QUEUE", lambda job: job["queue"]),
    Column("OWNER", lambda job: job["owner"]),
    Column("PRIORITY", lambda job: job["priority"], right=True),
    Column("SHAPE", shape, right=True),
    Column("STEP", progress, right=True),
    Column("AGE", lambda job: age(job["submitted_at"]), right=True),
    Column("REMARK", lambda job: Sight(job).remark),
)
JOB_SHEET = (
    Column("Job", lambda job: job["id"]),
    Column("Name", lambda job: job["name"]),
    Column("State", lambda job: job["state"]),
    Column("Remark", lambda job: Sight(job).remark),
    Column("What helps", _help),
    Column("Queue", lambda job: job["queue"]),
    Column("Owner", lambda job: job["owner"]),
    Column("Priority", lambda job: job["priority"]),
    Column("Workers", _resources),
    Column("Step", progress),
    Column("Attempts", lambda job: job.get("num_attempts") or ""),
    Column("Placed on", _where),
    Column("Submitted", lambda job: moment(job["submitted_at"])),
    Column("Started", lambda job: moment(job.get("first_started_at"))),
    Column("Ended", lambda job: moment(job.get("finished_at"))),
    Column("Result", result),
)
