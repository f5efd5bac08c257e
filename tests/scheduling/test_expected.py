"""Expected starts: when each waiting job is expected to start, and what that rests on."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from scheduling.decide import decide
from scheduling.model import Basis, Eta, Job, JobPhase, Policy, Queue, Runtimes
from scheduling.snapshot import Snapshot
from tests.scheduling.building import job, leaving, node, on, plan, queue, required, running
from tests.scheduling.test_reservations import NOW_MS, limited, timed_snapshots

NODES = [node("n1", 4), node("n2", 4), node("n3", 4)]


def eta(row: Job, *others: Job, queues: list[Queue] | None = None, at: int = 0, **policy: Any) -> Eta:
    """What the job is told, on three nodes of four devices."""
    return plan(NODES, [*others, row], queues or [], at=at, policy=Policy(**policy)).etas[row.id]


def by_limits(seconds: int) -> Eta:
    """At that second, as limits are enforced."""
    return Eta(at_ms=seconds * 1000, basis=Basis.LIMITS)


FULL = [limited(running(job(f"f{n}", 4), f"n{n}:0,1,2,3"), 100 * n) for n in (1, 2, 3)]
UNKNOWN = Eta(at_ms=None, basis=Basis.UNKNOWN)


def test_the_first_in_line_is_told_its_earliest_start() -> None:
    """When the node with the soonest limit is free, with or without a reservation policy."""
    assert eta(job("j", 4), *FULL) == by_limits(100)
    assert eta(job("j", 4), *FULL, num_reservations=1) == by_limits(100)


def test_the_place_counts_not_the_number_of_devices() -> None:
    """Six devices are free now, but four on one node only at 100."""
    halves = [limited(running(job(f"h{n}", 2), f"n{n}:0,1"), 100 * n) for n in (1, 2, 3)]
    assert eta(job("j", 4), *halves) == by_limits(100)
    assert eta(job("j", 4, workers=2), *halves) == by_limits(200)


def test_a_limit_counts_as_well() -> None:
    """Devices are free now; the queue's limit leaves room at 200."""
    rows = [limited(running(job(f"r{n}", 2), f"n{n}:0,1"), 100 * n) for n in (1, 2)]
    assert eta(job("j", 2, workers=2), *rows, queues=[queue("q", limit=4)]) == by_limits(200)


def test_those_behind_wait_for_those_ahead() -> None:
    """Each takes a whole node as it becomes free; the fourth waits for the first of them to end."""
    rows = [limited(job(f"w{n}", 4, at=n), 1000) for n in range(4)]
    etas = plan(NODES, [*FULL, *rows], at=0).etas
    assert [etas[row.id] for row in rows[:3]] == [by_limits(100), by_limits(200), by_limits(300)]
    last = etas[rows[3].id].at_ms
    assert last is not None
    assert last > 300_000


def test_a_line_below_one_limit_waits_for_it() -> None:
    """Devices are plenty, but the queue may use only four at a time: each waits for the work ahead."""
    rows = [limited(job(f"w{n}", 4, at=n), 1000) for n in range(3)]
    hold = limited(running(job("r", 4), "n1:0,1,2,3"), 100)
    etas = plan(NODES, [hold, *rows], [queue("q", limit=4)], at=0).etas
    assert etas[rows[0].id] == by_limits(100)
    assert [round((etas[row.id].at_ms or 0) / 100_000) for row in rows] == [1, 11, 21]


def test_a_reservation_is_the_expected_start() -> None:
    """Of its job, with its basis."""
    gang = limited(job("gang", 4, workers=3), 10)
    result = plan(NODES, [*FULL, gang], at=0, policy=Policy(num_reservations=1))
    assert result.etas[gang.id] == by_limits(300)
    assert result.reservations[0].starts_at_ms == 300_000


def test_a_job_that_devices_are_kept_for_starts_when_they_are_free() -> None:
    """When the grace of the last one that leaves them is over."""
    goes = [
        leaving(replace(running(job(f"v{n}", 4), f"n{n}:0,1,2,3"), grace_ms=n * 10_000)) for n in (1, 2, 3)
    ]
    winner = job("winner", 4, workers=2, kept=on("n1:0,1,2,3", "n2:0,1,2,3"))
    assert eta(winner, *goes, at=500) == by_limits(520)


@pytest.mark.parametrize(
    "row", [job("j", 5), job("j", 1, workers=11), job("j", 4, workers=2, topology=required("node"))]
)
def test_a_job_that_can_never_start_is_not_expected(row: Job) -> None:
    """Larger than any place, or than its limit."""
    assert eta(row, queues=[queue("q", limit=10)]) == UNKNOWN


def test_where_somebody_in_the_way_has_no_known_end_nothing_is_promised() -> None:
    """Nobody knows when two nodes will be free; one is known to be."""
    rows = [FULL[0], running(job("f2", 4), "n2:0,1,2,3"), running(job("f3", 4), "n3:0,1,2,3")]
    assert eta(job("j", 4, workers=2), *rows) == UNKNOWN
    assert eta(job("j", 4), *rows) == by_limits(100)


def test_predictions_are_the_basis_where_the_policy_believes_them() -> None:
    """And a limit that comes first still bounds."""
    rows = [replace(FULL[0], predicted_ms=40_000), *FULL[1:]]
    expected = Eta(at_ms=40_000, basis=Basis.PREDICTION)
    assert eta(job("j", 4), *rows, runtimes=Runtimes.PREDICTIONS) == expected
    assert eta(job("j", 4), *FULL, runtimes=Runtimes.PREDICTIONS) == by_limits(100)


def test_a_dependent_job_is_expected_when_the_others_have_ended() -> None:
    """A running one by its limit; a waiting one by its start (to a 64th of the wait) and its run."""
    first = limited(job("first", 4, at=1), 50)
    then = job("then", 1, at=2, depends_on=frozenset({first.id, FULL[2].id}))
    assert eta(then, *FULL, first) == by_limits(300)
    behind = eta(replace(then, depends_on=frozenset({first.id})), *FULL, first).at_ms
    assert behind is not None
    assert 150_000 <= behind <= 150_000 * 65 / 64
    endless = replace(first, max_runtime_ms=None)
    assert eta(replace(then, depends_on=frozenset({first.id})), *FULL, endless) == UNKNOWN


@given(rows=timed_snapshots())
@settings(max_examples=100, deadline=None)
def test_everybody_who_waits_has_a_time_to_come_or_none(rows: Snapshot) -> None:
    """And nobody else has; unknown is said where there is none, and only there."""
    result = decide(rows, NOW_MS, Policy(num_reservations=1))
    started = {start.job for start in result.starts}
    waiting = {row.id for row in rows.jobs if row.phase is JobPhase.WAITING} - started
    assert result.etas.keys() == waiting
    for expected in result.etas.values():
        assert (expected.at_ms is None) == (expected.basis is Basis.UNKNOWN)
        assert expected.at_ms is None or expected.at_ms > NOW_MS


@given(rows=timed_snapshots())
@settings(max_examples=100, deadline=None)
def test_of_equal_jobs_the_one_ahead_is_never_expected_later(rows: Snapshot) -> None:
    """Copies of one waiting job, submitted one after another, as far as nothing is kept for them."""
    row = next(row for row in rows.jobs if row.phase is JobPhase.WAITING)
    copies = [replace(row, id=job(f"{row.id}-{n}").id, submitted_at_ms=9000 + n) for n in range(5)]
    others = [other for other in rows.jobs if other.id != row.id]
    rows = Snapshot.of(nodes=rows.nodes, queues=rows.queues, jobs=[*others, *copies], levels=rows.levels)
    result = decide(rows, NOW_MS, Policy())
    in_line = result.etas.keys() - {keep.job for keep in result.keeps}
    times = [result.etas[copy.id].at_ms or 1 << 60 for copy in copies if copy.id in in_line]
    assert times == sorted(times)
