"""What must hold of every plan where users, types, arrays, dependencies, windows and budgets bind too."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from scheduling.decide import decide
from scheduling.invariants import check
from scheduling.model import Growth, Order, Policy, Runtimes
from scheduling.snapshot import Snapshot
from tests.scheduling.rows import carried_out, gone, rich_snapshots

NOW_MS = 100_000
POLICIES = [
    Policy(),
    Policy(max_evictions=1, min_runtime_ms=70_000),
    Policy(growth=Growth.MOST, runtimes=Runtimes.PREDICTIONS),
    Policy(order=Order.LEAST_ATTAINED),
    Policy(preempts=False, shares_surplus=True),
]
NAMES = ["fair", "budget", "growth", "service", "no preemption"]
# A budget is one pass's: the next pass evicts further.
LASTING = [replace(policy, max_evictions=None) for policy in POLICIES]


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
@given(rows=rich_snapshots())
@settings(max_examples=60, deadline=None)
def test_no_plan_breaks_an_invariant(policy: Policy, rows: Snapshot) -> None:
    """All that `check` knows: now, and a moment later when those who leave are gone."""
    plan = decide(rows, NOW_MS, policy)
    assert check(rows, plan, now_ms=NOW_MS) == []
    later = gone(carried_out(rows, plan, now_ms=NOW_MS))
    assert check(later, decide(later, NOW_MS + 1, policy), now_ms=NOW_MS + 1) == []


@pytest.mark.parametrize("policy", LASTING, ids=NAMES)
@given(rows=rich_snapshots())
@settings(max_examples=60, deadline=None)
def test_deciding_again_on_the_result_changes_nothing(policy: Policy, rows: Snapshot) -> None:
    """Nobody starts, leaves or changes size, and what was kept is kept, while those who leave still hold."""
    plan = decide(rows, NOW_MS, policy)
    again = decide(carried_out(rows, plan, now_ms=NOW_MS), NOW_MS, policy)
    assert (again.starts, again.evictions, again.resizes, again.repairs) == ((), (), (), ())
    assert again.keeps == plan.keeps


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
@given(rows=rich_snapshots())
@settings(max_examples=60, deadline=None)
def test_the_order_of_the_rows_does_not_matter(policy: Policy, rows: Snapshot) -> None:
    """Equal rows in any order give an equal plan."""
    mixed = Snapshot.of(
        nodes=rows.nodes[::-1],
        queues=rows.queues[::-1],
        jobs=rows.jobs[::-1],
        levels=rows.levels,
        windows=rows.windows[::-1],
    )
    assert decide(mixed, NOW_MS, policy) == decide(rows, NOW_MS, policy)
