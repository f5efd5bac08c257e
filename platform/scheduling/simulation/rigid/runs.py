"""A job of a fixed size and how far it is. Times and durations in milliseconds, amounts in whole devices."""

from dataclasses import dataclass
from math import gcd

Place = tuple[tuple[int, int], ...]  # pairs of node and devices there


@dataclass(frozen=True, slots=True, kw_only=True)
class RigidJob:
    """A row of a trace. `limit_ms` bounds its run time; `runtime_ms` is told to nobody but an oracle."""

    number: int  # in order of submission
    submitted_ms: int
    runtime_ms: int
    num_devices: int
    user: str = ""
    limit_ms: int | None = None

    def worker_devices(self, per_node: int) -> int:
        """Devices of each worker: all on one node where they fit, else parts of equal size."""
        return self.num_devices if self.num_devices <= per_node else gcd(self.num_devices, per_node)


class Run:
    """A job in the replay: what it has done, where it runs and what it cost."""

    __slots__ = (
        "done_ms",
        "ended_ms",
        "first_started_ms",
        "held_ms",
        "job",
        "lost_device_ms",
        "num_starts",
        "place",
        "ready_ms",
        "started_ms",
    )

    def __init__(self, job: RigidJob) -> None:
        self.job = job
        self.place: Place = ()
        self.done_ms = 0  # progress that lasts, of earlier attempts
        self.held_ms = 0  # time with devices, of earlier attempts
        self.started_ms = 0  # of this attempt
        self.ready_ms = 0  # from when on it makes progress
        self.num_starts = 0
        self.first_started_ms: int | None = None
        self.ended_ms: int | None = None
        self.lost_device_ms = 0

    @property
    def is_running(self) -> bool:
        """Whether it holds devices."""
        return bool(self.place)

    @property
    def ends_ms(self) -> int:
        """When this attempt will be done, unless something happens to it."""
        return self.ready_ms + self.job.runtime_ms - self.done_ms

    def progress_ms(self, now_ms: int) -> int:
        """What it has done by now."""
        return self.done_ms + (max(now_ms - self.ready_ms, 0) if self.place else 0)

    def attained_ms(self, now_ms: int) -> int:
        """For how long it has held devices by now."""
        return self.held_ms + (now_ms - self.started_ms if self.place else 0)

    def start(self, place: Place, *, now_ms: int, restart_ms: int) -> None:
        """Begins an attempt; every one but the first pays for the restart before it makes progress."""
        self.place, self.started_ms = place, now_ms
        self.ready_ms = now_ms + (restart_ms if self.num_starts else 0)
        self.num_starts += 1
        if self.first_started_ms is None:
            self.first_started_ms = now_ms

    def stop(self, *, now_ms: int, kept_ms: int) -> None:
        """Ends an attempt with this progress; what it did beyond, and its restart, were for nothing."""
        idle_ms = min(self.ready_ms, now_ms) - self.started_ms
        lost_ms = self.progress_ms(now_ms) - kept_ms + idle_ms
        self.lost_device_ms += lost_ms * self.job.num_devices
        self.held_ms, self.done_ms, self.place = self.attained_ms(now_ms), kept_ms, ()
