"""Hypothesis strategies: small clusters on which nobody holds what another holds; what follows a plan."""

from dataclasses import replace

from hypothesis import strategies as st

from scheduling.model import Job, JobId, JobPhase, Node, Placement, Plan, Queue, Selector, Window
from scheduling.snapshot import Snapshot
from tests.scheduling import brute
from tests.scheduling.building import job, node, preferred, queue, required, snapshot

QUEUES = ("a", "a/x", "a/y", "b")


@st.composite
def nodes(draw: st.DrawFn) -> list[Node]:
    """One to four nodes in two racks, of two types, some with two link domains, some of them down."""
    return [draw(_nodes(f"n{number}")) for number in range(draw(st.integers(1, 4)))]


@st.composite
def _nodes(draw: st.DrawFn, name: str) -> Node:
    num_devices = draw(st.sampled_from([4, 2, 1]))
    split = draw(st.booleans())
    return node(
        name,
        num_devices,
        rack=draw(st.sampled_from("rs")),
        links=tuple(f"{name}-{index // 2 if split else 0}" for index in range(num_devices)),
        accelerator_type=draw(st.sampled_from("xxy")),
        cpus_milli=draw(st.sampled_from([8000, 2000])),
        usable=draw(st.sampled_from([True, True, True, False])),
    )


@st.composite
def queues(draw: st.DrawFn) -> list[Queue]:
    """A tree of four queues."""
    return [draw(_queues(path)) for path in QUEUES]


@st.composite
def _queues(draw: st.DrawFn, path: str) -> Queue:
    limit = draw(st.sampled_from([None, None, None, 2, 4, 8]))
    guarantee = draw(st.integers(0, 4 if limit is None else min(limit, 4)))
    parent = {"a/x": "a", "a/y": "a"}.get(path)
    return queue(path, guarantee=guarantee, limit=limit, parent=parent, weight=draw(st.integers(1, 2)))


@st.composite
def jobs(draw: st.DrawFn, name: str) -> Job:
    """A gang of any kind."""
    devices = draw(st.sampled_from([1, 1, 1, 1, 2, 2, 0.5, 0, 4]))
    rules = [(), (), (), required("rack"), required("node"), required("link"), preferred("rack")]
    return job(
        name,
        devices,
        workers=1 if devices == 0.5 else draw(st.sampled_from([1, 1, 2, 3])),
        queue=draw(st.sampled_from(QUEUES)),
        priority=draw(st.integers(0, 2)),
        at=draw(st.integers(0, 3)),
        cpus_milli=draw(st.sampled_from([0, 0, 0, 1000, 2000])),
        types=draw(st.sampled_from([(), (), (), ("x",), ("y", "x")])),
        topology=draw(st.sampled_from(rules)),
        preemptible=draw(st.sampled_from([True, True, True, True, False])),
    )


@st.composite
def snapshots(draw: st.DrawFn, *, num_waiting: int = 4) -> Snapshot:
    """A cluster on which jobs run or leave, wherever they fitted and limits or not, and others wait."""
    rows, placed = draw(nodes()), list[Job]()
    for number in range(draw(st.integers(0, 8))):
        row = draw(jobs(f"r{number}"))
        place = brute.any_place(rows, placed, row)
        if place is not None:
            placed.append(draw(_placed(row, place)))
    waiting = [draw(jobs(f"w{number}")) for number in range(draw(st.integers(1, num_waiting)))]
    return snapshot(rows, [*placed, *waiting], draw(queues()))


@st.composite
def _placed(draw: st.DrawFn, row: Job, place: Placement) -> Job:
    return replace(
        row,
        phase=draw(st.sampled_from([JobPhase.PLACED, JobPhase.PLACED, JobPhase.PLACED, JobPhase.LEAVING])),
        placement=place,
        placed_at_ms=draw(st.integers(0, 50)) * 1000,
        saved_at_ms=draw(st.sampled_from([None, 60_000])),
    )


@st.composite
def elastic_jobs(draw: st.DrawFn, name: str) -> Job:
    """A gang of one to six small workers, in steps of one or two."""
    row = draw(jobs(name))
    step = draw(st.sampled_from([1, 1, 2]))
    least = step * draw(st.integers(1, 2))
    return replace(
        row,
        accelerators_milli=draw(st.sampled_from([1000, 1000, 2000, 0])),
        num_workers=draw(st.integers(1, 5)),
        min_workers=least,
        max_workers=least + step * draw(st.integers(0, 2)),
        step_workers=step,
        restart_cost_ms=draw(st.sampled_from([0, 30_000, 3_600_000])),
        speeds=draw(st.sampled_from([(), ((1, 1000), (2, 1900), (4, 2500))])),
        remaining_ms=draw(st.sampled_from([None, 60_000, 6_000_000])),
    )


@st.composite
def elastic_snapshots(draw: st.DrawFn, *, num_waiting: int = 4) -> Snapshot:
    """The same with elastic jobs of all sizes among them, gangs that lost workers, and workers that leave."""
    rows, placed = draw(nodes()), list[Job]()
    for number in range(draw(st.integers(0, 6))):
        row = draw(st.one_of(elastic_jobs(f"r{number}"), jobs(f"r{number}")))
        size = draw(st.integers(row.least_workers, row.most_workers))
        holders = [replace(other, placement=other.placement + other.releasing) for other in placed]
        place = brute.any_place(rows, holders, replace(row, num_workers=size))
        if place is not None:
            placed.append(draw(_changing(draw(_placed(row, place)))))
    names = [f"w{number}" for number in range(draw(st.integers(0, num_waiting)))]
    waiting = [draw(st.one_of(elastic_jobs(name), jobs(name))) for name in names]
    return snapshot(rows, [*placed, *waiting], draw(queues()))


@st.composite
def full_snapshots(draw: st.DrawFn) -> Snapshot:
    """Two nodes full of elastic jobs, and one more job that waits."""
    rows, placed = [node("n0", 4, rack="r"), node("n1", 4, rack=draw(st.sampled_from("rs")))], list[Job]()
    for number in range(4):
        row = replace(draw(elastic_jobs(f"r{number}")), preemptible=True, topology=(), types=())
        step, most = row.step_workers, row.most_workers - row.most_workers % row.step_workers
        row = replace(row, accelerators_milli=1000, cpus_milli=0, num_workers=most, min_workers=step)
        for size in range(most, 0, -step):
            place = brute.any_place(rows, placed, replace(row, num_workers=size))
            if place is not None:
                placed.append(replace(row, phase=JobPhase.PLACED, placement=place, placed_at_ms=0))
                break
    waiting = replace(draw(jobs("w")), priority=draw(st.integers(1, 3)))
    return snapshot(rows, [*placed, waiting], draw(queues()))


@st.composite
def _changing(draw: st.DrawFn, row: Job) -> Job:
    """Now and then some ranks are lost, or leave just now."""
    num = draw(st.sampled_from([0, 0, 0, 0, 1, 2]))
    if row.phase is not JobPhase.PLACED or num >= len(row.placement) or not num:
        return row
    if row.is_elastic and draw(st.booleans()):
        return replace(row, placement=row.placement[:-num], releasing=row.placement[-num:])
    return replace(row, placement=row.placement[:-num], num_missing=num)


@st.composite
def crowded_snapshots(draw: st.DrawFn) -> Snapshot:
    """Two nodes full of small jobs of low priority, of which some leave, and two to four more that wait."""
    rows, placed = [node("n0", 4, rack="r"), node("n1", 4, rack=draw(st.sampled_from("rs")))], list[Job]()
    for number in range(8):
        row = replace(draw(jobs(f"r{number}")), accelerators_milli=1000, num_workers=1, topology=(), types=())
        row = replace(row, priority=draw(st.sampled_from([0, 0, 1])), cpus_milli=0)
        place = brute.any_place(rows, placed, row)
        assert place is not None
        placed.append(draw(_placed(row, place)))
    waiting = [draw(jobs(f"w{number}")) for number in range(draw(st.integers(2, 4)))]
    waiting = [replace(row, priority=draw(st.integers(1, 3)), cpus_milli=0) for row in waiting]
    return snapshot(rows, [*placed, *waiting], draw(queues()))


@st.composite
def rich_snapshots(draw: st.DrawFn, *, num_waiting: int = 4) -> Snapshot:
    """The same with users, limits of users and types, capped arrays, jobs that wait for others, selectors,
    run times and maintenance windows, each now and then.
    """
    rows = draw(st.one_of(crowded_snapshots(), full_snapshots(), elastic_snapshots(num_waiting=num_waiting)))
    names = [row.id for row in rows.jobs]
    caps = {"": None, "m": draw(st.integers(1, 2)), "n": draw(st.integers(1, 3))}
    return Snapshot.of(
        nodes=rows.nodes,
        queues=[draw(_capped(row)) for row in rows.queues],
        jobs=[draw(_bound(row, caps, names)) for row in rows.jobs],
        levels=rows.levels,
        windows=[draw(_windows(f"m{at}", rows)) for at in range(draw(st.sampled_from([0, 0, 0, 0, 1, 2])))],
    )


@st.composite
def _capped(draw: st.DrawFn, row: Queue) -> Queue:
    return replace(
        row,
        user_limit_milli=draw(st.sampled_from([None, None, None, 3000, 5000])),
        type_limits=draw(st.sampled_from([{}, {}, {}, {"x": 3000}, {"x": 5000, "y": 1000}])),
    )


@st.composite
def _bound(draw: st.DrawFn, row: Job, caps: dict[str, int | None], names: list[JobId]) -> Job:
    """Whoever waits may wait for another; runs are bounded by a limit, a prediction, both or nothing."""
    array = draw(st.sampled_from(["", "", "", "", "m", "n"]))
    others = st.sampled_from([name for name in [*names, JobId("unknown")] if name != row.id])
    awaited = draw(st.integers(0, 7)) == 7 and row.phase is JobPhase.WAITING
    nodes = Selector(label="node", values=frozenset({"n0", "n1"}))
    return replace(
        row,
        user=draw(st.sampled_from("ab")),
        array=array,
        array_cap=caps[array],
        depends_on=frozenset({draw(others)} if awaited else ()),
        selectors=draw(st.sampled_from([(), (), (), (), (), (nodes,)]))
        if row.phase is JobPhase.WAITING
        else (),
        max_runtime_ms=draw(st.sampled_from([None, 100_000, 200_000])),
        predicted_ms=draw(st.sampled_from([None, None, 120_000])),
        grace_ms=draw(st.sampled_from([0, 30_000])),
    )


@st.composite
def _windows(draw: st.DrawFn, name: str, rows: Snapshot) -> Window:
    """One that is over, has begun, or begins before or after most jobs have ended."""
    begins = draw(st.sampled_from([10_000, 90_000, 110_000, 150_000, 500_000]))
    nodes = draw(st.sets(st.sampled_from([row.name for row in rows.nodes]), min_size=1))
    return Window(name=name, nodes=frozenset(nodes), starts_at_ms=begins, ends_at_ms=begins + 60_000)


def carried_out(rows: Snapshot, plan: Plan, *, now_ms: int) -> Snapshot:
    """The snapshot after a plan: starts placed, victims leaving, gangs changed, keeps noted."""
    starts = {start.job: start.placement for start in plan.starts}
    keeps = {keep.job: keep.placement for keep in plan.keeps}
    evicted = {eviction.job for eviction in plan.evictions}
    changes = {change.job: change.placement for change in plan.resizes}
    changes |= {change.job: change.placement for change in plan.repairs}

    def after(row: Job) -> Job:
        row = replace(row, kept=keeps.get(row.id, ()))
        if row.id in starts:
            placement: Placement = starts[row.id]
            return replace(row, phase=JobPhase.PLACED, placement=placement, placed_at_ms=now_ms, kept=())
        if row.id in evicted:
            return replace(row, phase=JobPhase.LEAVING)
        if row.id in changes:
            return _changed(row, changes[row.id])
        return row

    return replace(rows, jobs=tuple(after(row) for row in rows.jobs))


def _changed(row: Job, placement: Placement) -> Job:
    """The gang with these workers: the others are leaving."""
    left = list(placement)
    releasing = []
    for worker in row.placement:
        if worker in left:
            left.remove(worker)
        else:
            releasing.append(worker)
    return replace(row, placement=placement, releasing=(*row.releasing, *releasing), num_missing=0)


def gone(rows: Snapshot) -> Snapshot:
    """The snapshot when everyone who leaves is gone, back among those who wait."""

    def after(row: Job) -> Job:
        row = replace(row, releasing=())
        if row.phase is not JobPhase.LEAVING:
            return row
        return replace(row, phase=JobPhase.WAITING, placement=(), placed_at_ms=None, num_missing=0)

    return replace(rows, jobs=tuple(after(row) for row in rows.jobs))


def devices(placement: Placement) -> set[tuple[str, int]]:
    """All devices of a placement."""
    return {(worker.node, device) for worker in placement for device in worker.devices}
