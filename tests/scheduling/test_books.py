"""What a snapshot hands on to the next is what the next would have worked out from its rows."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.books import Books
from scheduling.decide import decide
from scheduling.model import Job, Policy
from scheduling.snapshot import Snapshot
from scheduling.supply import Free
from tests.scheduling import brute
from tests.scheduling.building import job, node, queue, running, snapshot
from tests.scheduling.rows import carried_out, gone, jobs, snapshots

NOW_MS = 100_000


def rebuilt(rows: Snapshot) -> Snapshot:
    """The same rows with nothing handed on."""
    return Snapshot.of(
        nodes=rows.nodes, queues=rows.queues, jobs=rows.jobs, levels=rows.levels, windows=rows.windows
    )


def is_same(one: Free, other: Free) -> bool:
    """Whether two accounts say the same of every node."""
    pairs = [(one.devices, other.devices), (one.cpus, other.cpus), (one.memory, other.memory)]
    return all(bool(np.array_equal(*pair)) for pair in pairs)


def assert_in_step(rows: Snapshot) -> None:
    """The books that were handed on equal those of a rebuilt snapshot."""
    handed_on, fresh = rows.books, Books(rebuilt(rows))
    assert is_same(handed_on.real, fresh.real)
    assert is_same(handed_on.later, fresh.later)
    assert handed_on.tree.used == fresh.tree.used
    assert handed_on.tree.staying == fresh.tree.staying
    assert {number: line for number, line in handed_on.lines.items() if line} == fresh.lines
    assert handed_on.leaving.keys() == fresh.leaving.keys()
    policy = Policy()
    assert decide(rows, NOW_MS, policy) == decide(rebuilt(rows), NOW_MS, policy)


def changed(before: Snapshot, after: Snapshot) -> Snapshot:
    """`after`, made from `before` by the jobs that differ."""
    rows = {row.id: row for row in after.jobs}
    return before.with_event(
        jobs=[row for row in after.jobs if row not in before.jobs],
        gone=[row.id for row in before.jobs if row.id not in rows],
    )


@given(rows=snapshots(), data=st.data())
@settings(max_examples=80, deadline=None)
def test_books_handed_on_are_those_of_the_rows(rows: Snapshot, data: st.DataObject) -> None:
    """A plan carried out, victims gone, a job submitted, a job ended: after each the books are right."""
    plan = decide(rows, NOW_MS, Policy())
    assert plan == decide(rows, NOW_MS, Policy())  # a plan changes nothing of the snapshot
    rows = changed(rows, carried_out(rows, plan, now_ms=NOW_MS))
    assert_in_step(rows)
    rows = changed(rows, gone(rows))
    assert_in_step(rows)
    newcomer: Job = data.draw(jobs("new"))
    rows = rows.with_event(jobs=[newcomer], gone=[data.draw(st.sampled_from([row.id for row in rows.jobs]))])
    assert_in_step(rows)


def test_an_unknown_queue_and_new_nodes_are_taken_in() -> None:
    """A job may name a queue that nobody defined; nodes may come and go."""
    rows = snapshot([node("n1", 4)], [running(job("a", 2), "n1:0,1")], [queue("q", guarantee=2)])
    assert decide(rows, NOW_MS, Policy()).starts == ()
    rows = rows.with_event(jobs=[job("b", 2, queue="elsewhere")])
    assert_in_step(rows)
    rows = rows.with_event(nodes=[node("n1", 4), node("n2", 8)], queues=[queue("q", guarantee=4)])
    assert_in_step(rows)
    assert [start.job for start in decide(rows, NOW_MS, Policy()).starts] == ["b"]


def test_what_is_gone_twice_or_was_never_there_does_no_harm() -> None:
    """Events may repeat themselves."""
    rows = snapshot([node("n1", 4)], [job("a", 2)], [queue("q")])
    assert decide(rows, NOW_MS, Policy()).starts != ()
    rows = rows.with_event(gone=[job("a").id, job("x").id]).with_event(gone=[job("a").id])
    assert rows.jobs == ()
    assert_in_step(rows)
    assert brute.any_place(rows.nodes, rows.jobs, job("b", 4)) is not None


def test_equals_are_chosen_alike_whatever_order_they_came_in() -> None:
    """Two victims alike in all but the id: who was booked first makes no difference."""
    rows = [running(job(name, 2), place) for name, place in (("b", "n1:0,1"), ("a", "n1:2,3"))]
    claimant = job("w", 2, priority=1)
    empty = snapshot([node("n1", 4)], [], [queue("q")])
    assert decide(empty, NOW_MS, Policy()).starts == ()
    one = empty.with_event(jobs=[rows[0]]).with_event(jobs=[rows[1]]).with_event(jobs=[claimant])
    other = empty.with_event(jobs=[rows[1]]).with_event(jobs=[rows[0]]).with_event(jobs=[claimant])
    assert one == other
    assert decide(one, NOW_MS, Policy()) == decide(other, NOW_MS, Policy())
