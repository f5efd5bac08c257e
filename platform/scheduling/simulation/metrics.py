"""Measures of a finished simulation, from one record per job. Seconds and devices; nothing is read or drawn.

`summarise` gives them all; `Summary.to_json` is what `replay --json` prints. A measure without data is None.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

SIZE_CLASSES: tuple[tuple[str, float], ...] = (  # name and largest number of devices
    ("1", 1),
    ("2-8", 8),
    ("9-64", 64),
    ("65+", float("inf")),
)
UNFAIR_RHO = 1.05


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """One job of a finished simulation.

    `num_devices` is what it asked for (a part of a device is a fraction), `ideal_s` its run time alone on
    just that, without restarts. `service_device_s` is all that it held, restarts and lost work included.
    `useful_device_s` is the part of it that made progress which lasted; None: `num_devices * ideal_s` of a
    finished job. `isolated_s` is its run time on one equal share of the cluster; None: by `isolated_seconds`.
    """

    id: str
    submitted_s: float
    started_s: float | None  # first start
    ended_s: float | None
    num_devices: float
    ideal_s: float
    num_restarts: int = 0
    preempted_device_s: float = 0.0  # work that evictions and shrinks threw away, with the restarts they cost
    service_device_s: float = 0.0
    useful_device_s: float | None = None
    isolated_s: float | None = None

    @property
    def jct_s(self) -> float | None:
        """Job completion time: from submission to the end."""
        return None if self.ended_s is None else self.ended_s - self.submitted_s

    @property
    def queueing_s(self) -> float | None:
        """From submission to the first start."""
        return None if self.started_s is None else self.started_s - self.submitted_s

    @property
    def lasting_device_s(self) -> float:
        """Device-seconds of progress that lasted."""
        if self.useful_device_s is not None:
            return self.useful_device_s
        return 0.0 if self.ended_s is None else self.num_devices * self.ideal_s


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleSample:
    """Devices idle from this moment to the next sample; `num_unusable`: those no waiting job can use."""

    at_s: float
    num_idle: float
    num_unusable: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Average and percentiles (linear interpolation) of some numbers."""

    num: int
    avg: float | None
    p50: float | None
    p99: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fairness:
    """Finish-time fairness: rho of all finished jobs. Above 1 a job did worse than on an equal share."""

    mean: float | None
    worst: float | None
    share_above_1_05: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Everything that a replay reports. Utilisations, fragmentation and ETTR are shares of one."""

    num_jobs: int
    num_finished: int
    jct_s: Spread
    jct_s_by_size: dict[str, Spread]
    queueing_s: Spread
    makespan_s: float | None
    allocated_utilisation: float | None
    effective_utilisation: float | None
    fragmentation: float | None
    fairness: Fairness
    num_restarts: int
    preempted_device_hours: float
    ettr: float | None
    decision_s: Spread

    def to_json(self) -> dict[str, object]:
        """The summary as JSON-ready built-ins."""
        return asdict(self)


def summarise(
    records: Sequence[JobRecord],
    *,
    num_devices: float,
    idle: Sequence[IdleSample] = (),
    decision_s: Sequence[float] = (),
) -> Summary:
    """All measures of these jobs on a cluster of `num_devices`; `decision_s` are measured engine times."""
    return Summary(
        num_jobs=len(records),
        num_finished=sum(record.ended_s is not None for record in records),
        jct_s=spread(record.jct_s for record in records),
        jct_s_by_size=jct_by_size(records),
        queueing_s=spread(record.queueing_s for record in records),
        makespan_s=makespan_s(records),
        allocated_utilisation=_utilisation(records, [r.service_device_s for r in records], num_devices),
        effective_utilisation=_utilisation(records, [r.lasting_device_s for r in records], num_devices),
        fragmentation=fragmentation(idle),
        fairness=fairness(records, num_devices=num_devices),
        num_restarts=sum(record.num_restarts for record in records),
        preempted_device_hours=sum(record.preempted_device_s for record in records) / 3600,
        ettr=ettr(records),
        decision_s=spread(decision_s),
    )


def spread(numbers: Iterable[float | None]) -> Spread:
    """Average, median and 99th percentile of those that are known."""
    known = np.array([number for number in numbers if number is not None], dtype=np.float64)
    if not known.size:
        return Spread(num=0, avg=None, p50=None, p99=None)
    p50, p99 = np.percentile(known, [50, 99])
    return Spread(num=int(known.size), avg=float(known.mean()), p50=float(p50), p99=float(p99))


def size_class(num_devices: float) -> str:
    """The size class of a job: a part of a device counts as one device."""
    return next(name for name, most in SIZE_CLASSES if num_devices <= most)


def jct_by_size(records: Iterable[JobRecord]) -> dict[str, Spread]:
    """Completion times of each size class that has jobs."""
    classes: dict[str, list[float | None]] = {name: [] for name, _ in SIZE_CLASSES}
    for record in records:
        classes[size_class(record.num_devices)].append(record.jct_s)
    return {name: spread(times) for name, times in classes.items() if times}


def makespan_s(records: Sequence[JobRecord]) -> float | None:
    """From the first submission to the last end; None while nothing has ended."""
    ends = [record.ended_s for record in records if record.ended_s is not None]
    return max(ends) - min(record.submitted_s for record in records) if ends else None


def fragmentation(samples: Sequence[IdleSample]) -> float | None:
    """The share of idle device time that no waiting job could use. The last sample ends the one before it."""
    if len(samples) < 2:
        return None
    lasting = np.diff([sample.at_s for sample in samples])
    idle = float(np.dot(lasting, [sample.num_idle for sample in samples[:-1]]))
    unusable = float(np.dot(lasting, [sample.num_unusable for sample in samples[:-1]]))
    return unusable / idle if idle > 0 else None


def ettr(records: Iterable[JobRecord]) -> float | None:
    """Effective training time ratio of finished jobs: lasting device-seconds over the devices asked for x the
    wall time since the first start.

    Waiting before the first start is not in it (`queueing_s` is), waiting after an eviction is. Elastic jobs
    that grow beyond what they asked for may pass 1.
    """
    useful = wall = 0.0
    for record in records:
        if record.started_s is not None and record.ended_s is not None:
            useful += record.lasting_device_s
            wall += record.num_devices * (record.ended_s - record.started_s)
    return useful / wall if wall > 0 else None


def fairness(records: Sequence[JobRecord], *, num_devices: float) -> Fairness:
    """Finish-time fairness rho = shared / isolated time (Mahajan et al., Themis, NSDI'20, section 3).

    Shared: submission to end. Isolated: the time that the job would need on 1/N of the cluster, N being the
    average number of jobs in the system while it was there (as in Pollux, OSDI'21, section 5.2.2).
    """
    finished = [record for record in records if record.ended_s is not None]
    if not finished:
        return Fairness(mean=None, worst=None, share_above_1_05=None)
    isolated = [
        record.isolated_s
        if record.isolated_s is not None
        else isolated_seconds(record, num_devices=num_devices, contention=float(contention))
        for record, contention in zip(finished, average_contention(records, finished), strict=True)
    ]
    shared = np.array([record.jct_s for record in finished], dtype=np.float64)
    rho = shared / np.maximum(np.array(isolated), 1e-9)
    return Fairness(
        mean=float(rho.mean()), worst=float(rho.max()), share_above_1_05=float((rho > UNFAIR_RHO).mean())
    )


def isolated_seconds(record: JobRecord, *, num_devices: float, contention: float) -> float:
    """Run time on `num_devices / contention` devices: speed grows with devices up to those asked for."""
    share = num_devices / max(contention, 1.0)
    return record.ideal_s * max(1.0, record.num_devices / share)


def average_contention(records: Sequence[JobRecord], finished: Sequence[JobRecord]) -> FloatArray:
    """For each finished job the average number of jobs in the system from its submission to its end.

    The number of jobs in the system is a step function of time; its integral, linear between the steps, is
    looked up at both ends of each job.
    """
    ends = [record.ended_s for record in records if record.ended_s is not None]
    moments = np.array([record.submitted_s for record in records] + ends, dtype=np.float64)
    changes = np.concatenate([np.ones(len(records)), -np.ones(len(ends))])
    order = np.argsort(moments, kind="stable")
    moments, present = moments[order], np.cumsum(changes[order])
    area = np.concatenate([[0.0], np.cumsum(present[:-1] * np.diff(moments))])
    begin = np.array([record.submitted_s for record in finished], dtype=np.float64)
    end = np.array([record.ended_s for record in finished], dtype=np.float64)
    inside = np.interp(end, moments, area) - np.interp(begin, moments, area)
    average: FloatArray = np.maximum(inside / np.maximum(end - begin, 1e-9), 1.0)
    return average


def _utilisation(records: Sequence[JobRecord], device_s: Sequence[float], num_devices: float) -> float | None:
    """Device-seconds over all that the cluster had until the last end."""
    span = makespan_s(records)
    return sum(device_s) / (num_devices * span) if span else None
