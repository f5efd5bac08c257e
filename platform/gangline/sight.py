"""What there is to see of a job at one moment, for progress bars and plain lines alike."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gangline.units import plain

if TYPE_CHECKING:
    from gangline.client import Portal

Json = dict[str, Any]
ENDED = frozenset({"succeeded", "failed", "cancelled"})


@dataclass(frozen=True, slots=True)
class Sight:
    """One job as just read, with its newest loss."""

    job: Json
    loss: float | None = None

    @property
    def job_id(self) -> str:
        """The job's id."""
        return str(self.job["id"])

    @property
    def name(self) -> str:
        """The job's name in one printable line."""
        return plain(self.job["name"])

    @property
    def state(self) -> str:
        """One of the eight states."""
        return str(self.job["state"])

    @property
    def is_ended(self) -> bool:
        """Whether the state is final."""
        return self.state in ENDED

    @property
    def step(self) -> int:
        """Steps completed, 0 before the first is reported."""
        return self.job.get("step") or 0

    @property
    def total_steps(self) -> int | None:
        """Steps to do; None for a program that does not say."""
        return self.job.get("total_steps")

    @property
    def cause(self) -> str:
        """The code behind `remark`, which stays while its numbers change."""
        reason = self.job.get("reason")
        return str(reason["code"]) if reason else str(self.job.get("cause") or "")

    @property
    def remark(self) -> str:
        """Why it waits, leaves or ended, in the reader's language; empty where there is nothing to say."""
        reason = self.job.get("reason")
        return plain(reason.get("text") or reason["code"]) if reason else ""


def look(portal: "Portal", job_id: str) -> Sight:
    """Read a job; its loss only while it can have one."""
    job = portal.get(f"jobs/{job_id}")
    loss = None
    if job.get("step"):
        loss = portal.get(f"jobs/{job_id}/metrics", names="loss", max_points=2)["latest"].get("loss")
    return Sight(job, loss)
