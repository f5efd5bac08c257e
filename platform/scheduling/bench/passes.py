"""Full passes over a busy cluster: many gangs wait, no eviction is due, everything is switched on."""

import math
from collections.abc import Callable
from functools import partial

from scheduling.bench.extras import extras_in
from scheduling.bench.registry import Case, Clocks, Measured, percentile
from scheduling.bench.workloads import NOW_MS, Size, busy_cluster, settled
from scheduling.decide import decide
from scheduling.model import Growth, JobId, JobPhase, Plan, Policy, Runtimes
from scheduling.snapshot import Snapshot

NUM_NODES = 10_000
NUM_RUNS = 7
MOST_PASSES = 20  # a start may move a reservation, which lets another one start
EVERYTHING = Policy(num_reservations=4, growth=Growth.MOST, runtimes=Runtimes.PREDICTIONS)
SIZES = (10_000, 20_000, 40_000)


def decided(snapshot: Snapshot, policy: Policy = EVERYTHING) -> Plan:
    """One pass, and every reason and expected time of its plan."""
    plan = decide(snapshot, NOW_MS, policy)
    if plan.evictions:
        raise ValueError(f"{len(plan.evictions)} evictions were planned, none is due")
    dict(plan.reasons), dict(plan.etas)
    return plan


def after_events(snapshot: Snapshot, run: int) -> Snapshot:
    """The same cluster one event later, as the live tick sees it: one waiting job was withdrawn."""
    waiting = [job.id for job in snapshot.jobs if job.id.startswith("w")]
    return snapshot.with_event(gone=[waiting[run]])


def timed(snapshot: Snapshot, clocks: Clocks, act: Callable[[Snapshot], object]) -> tuple[float, float]:
    """Milliseconds of processor and wall time that the act takes."""
    cpu, wall = clocks.cpu_s(), clocks.wall_s()
    act(snapshot)
    return 1000 * (clocks.cpu_s() - cpu), 1000 * (clocks.wall_s() - wall)


def measure(clocks: Clocks, *, num_waiting: int) -> Measured:
    """95th percentile of passes, each over a snapshot one event on, in milliseconds."""
    snapshot = busy_cluster(Size(num_nodes=NUM_NODES, num_waiting=num_waiting))
    plan = decided(snapshot)
    runs = [timed(after_events(snapshot, run), clocks, decided) for run in range(NUM_RUNS)]
    cpu, wall = zip(*runs, strict=True)
    detail = f"{_told(snapshot, plan)}, {NUM_RUNS} passes"
    return Measured(value=percentile(cpu, 95), wall=percentile(wall, 95), detail=detail)


def exponent(clocks: Clocks) -> Measured:
    """The fitted power of the number of waiting jobs with which a pass grows: the slope of log time."""
    points = [(size, measure(clocks, num_waiting=size)) for size in SIZES]
    cpu = _slope([(size, found.value) for size, found in points])
    wall = _slope([(size, found.wall or found.value) for size, found in points])
    times = ", ".join(f"{size:,}: {found.value:.0f} ms" for size, found in points)
    return Measured(value=cpu, wall=wall, detail=times)


def _slope(points: list[tuple[int, float]]) -> float:
    """Least squares on logarithms."""
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    rise = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return rise / sum((x - mean_x) ** 2 for x in xs)


def at_rest(snapshot: Snapshot) -> tuple[Snapshot, Plan]:
    """The cluster when everybody who could start or grow has, and the plan that then changes nothing."""
    plan = decided(snapshot)
    for _ in range(MOST_PASSES):
        if not plan.starts and not plan.resizes:
            return snapshot, plan
        snapshot = settled(snapshot, plan)
        plan = decided(snapshot)
    raise ValueError(f"after {MOST_PASSES} passes somebody still starts")


def one_event(clocks: Clocks, *, num_nodes: int, num_waiting: int) -> Measured:
    """A running job ends: the next snapshot and the whole pass on it, in milliseconds. Before that everybody
    who could start has.
    """
    snapshot = busy_cluster(Size(num_nodes=num_nodes, num_waiting=num_waiting, busy=1.0))
    snapshot, plan = at_rest(snapshot)
    running = [job.id for job in snapshot.jobs if job.id.startswith("r")]
    ended = running[: 3 * NUM_RUNS]
    runs = [timed(snapshot, clocks, partial(_end, ended=job)) for job in ended]
    cpu, wall = zip(*runs, strict=True)
    detail = f"{_told(snapshot, plan)}, {len(runs)} events"
    return Measured(value=percentile(cpu, 95), wall=percentile(wall, 95), detail=detail)


def _told(snapshot: Snapshot, plan: Plan) -> str:
    """What there was, counted from the rows and the plan."""
    num_waiting = sum(job.phase is JobPhase.WAITING for job in snapshot.jobs)
    return (
        f"{len(snapshot.jobs) - num_waiting} running, {num_waiting} waiting ({extras_in(snapshot.jobs)}),"
        f" {len(plan.reservations)} reservations, {len(plan.starts)} starts, {len(plan.resizes)} resizes,"
        f" {len(plan.evictions)} evictions"
    )


def _end(snapshot: Snapshot, *, ended: JobId) -> None:
    decided(snapshot.with_event(gone=[ended]))


SLURM_PASS = "Slurm 22.05, 1,000 nodes, 1,000 waiting, all tested: 55.7 s wall; capped at 500: 14.9 s"
SLURM_EVENT = "Slurm's main cycle 5-38 ms, without reservations"
CASES = (
    Case(
        name="full pass, 10,000 nodes x 8, 10,000 waiting gangs",
        unit="ms",
        run=partial(measure, num_waiting=10_000),
        bar=250,
        peer=SLURM_PASS,
    ),
    Case(
        name="full pass, 10,000 nodes x 8, 40,000 waiting gangs",
        unit="ms",
        run=partial(measure, num_waiting=40_000),
        bar=600,
    ),
    Case(name="growth of a pass with the number of waiting gangs", unit="power", run=exponent, bar=1.1),
    Case(
        name="one event, 10,000 nodes, 100 waiting gangs",
        unit="ms",
        run=partial(one_event, num_nodes=10_000, num_waiting=100),
        bar=15,
        peer=SLURM_EVENT,
    ),
    Case(
        name="one event, 64 nodes, 20 waiting gangs",
        unit="ms",
        run=partial(one_event, num_nodes=64, num_waiting=20),
        bar=1.5,
        peer=SLURM_EVENT,
    ),
)
