"""The clusters that speed is measured on: everything is in them, and a plan for them evicts nobody."""

import pytest

from scheduling.bench.passes import EVERYTHING, at_rest, decided
from scheduling.bench.workloads import NOW_MS, Size, busy_cluster, settled
from scheduling.decide import decide
from scheduling.invariants import check
from scheduling.model import Job, JobPhase, Policy, Runtimes
from scheduling.snapshot import Snapshot

SIZE = Size(num_nodes=200, num_waiting=300)


def test_a_busy_cluster_has_everything_in_it() -> None:
    """Running and waiting jobs of every kind that a job file can ask for, a window and limits."""
    rows = busy_cluster(Size(num_nodes=1000, num_waiting=1000))
    for phase in (JobPhase.PLACED, JobPhase.WAITING):
        jobs = [row for row in rows.jobs if row.phase is phase]
        assert any(row.is_elastic for row in jobs)
        assert any(row.group_workers > 1 for row in jobs)
        assert any(0 < row.accelerators_milli < 1000 for row in jobs)
        assert any(row.array_cap for row in jobs)
        assert any(row.predicted_ms for row in jobs)
        assert any(row.selectors for row in jobs) == (phase is JobPhase.WAITING)
    assert len(rows.windows) == 1
    assert any(row.user_limit_milli for row in rows.queues)
    assert any(row.type_limits for row in rows.queues)


def test_tensor_groups_fit_on_one_node() -> None:
    """Or such a gang could never start, and would cost nothing."""
    grouped = [row for row in busy_cluster(SIZE).jobs if row.group_workers > 1]
    assert max(row.group_workers * row.accelerators_milli for row in grouped) <= 8000


def test_the_plan_evicts_nobody_and_breaks_no_invariant() -> None:
    """Neither at first nor when all who could start have."""
    rows = busy_cluster(SIZE)
    plan = decided(rows)
    assert plan.starts
    assert plan.evictions == ()
    assert check(rows, plan, now_ms=NOW_MS) == []
    rows, plan = at_rest(rows)
    assert (plan.starts, plan.evictions, plan.resizes) == ((), (), ())
    assert check(rows, plan, now_ms=NOW_MS) == []
    assert len(plan.reservations) == EVERYTHING.num_reservations


def test_everybody_holds_devices_of_his_own() -> None:
    """Nothing is held twice, so every pass has a cluster that can be."""
    rows = busy_cluster(SIZE)
    assert len(_held(rows)) == len(set(_held(rows)))


def _held(rows: Snapshot) -> list[tuple[str, int]]:
    placed: list[Job] = [row for row in rows.jobs if row.phase is JobPhase.PLACED]
    return [(worker.node, at) for row in placed for worker in row.placement for at in worker.devices]


@pytest.mark.parametrize("seed", [3, 4])
def test_a_settled_cluster_with_reservations_is_left_alone(seed: int) -> None:
    """Starts change whose turn it is to have a reservation: nobody is left who could start after all."""
    policy = Policy(num_reservations=1, runtimes=Runtimes.PREDICTIONS)
    rows = busy_cluster(Size(num_nodes=96, num_waiting=150, seed=seed))
    first = decide(rows, NOW_MS, policy)
    assert first.starts
    again = decide(settled(rows, first), NOW_MS, policy)
    assert (again.starts, again.reservations) == ((), first.reservations)
