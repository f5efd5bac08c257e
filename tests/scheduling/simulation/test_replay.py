"""The replay's clock and its baselines, on tiny traces worked out by hand."""

from collections.abc import Iterable

import pytest

from scheduling.simulation.rigid.fleet import Fleet, best_fit
from scheduling.simulation.rigid.levels import Levels
from scheduling.simulation.rigid.outages import outages
from scheduling.simulation.rigid.queueing import Easy, InOrder, by_arrival, by_runtime
from scheduling.simulation.rigid.replay import Outage, Replayed, Rules, Scheduler, replay
from scheduling.simulation.rigid.runs import RigidJob, Run
from scheduling.simulation.rigid.service import LeastAttained, ShortestRemaining


def jobs(*rows: tuple[int, int, int]) -> list[RigidJob]:
    """Jobs by (submitted, run time, devices), in seconds; limits are the run times."""
    return [
        RigidJob(
            number=number,
            submitted_ms=submitted * 1000,
            runtime_ms=runtime * 1000,
            num_devices=devices,
            limit_ms=runtime * 1000,
        )
        for number, (submitted, runtime, devices) in enumerate(rows)
    ]


def play(
    trace: list[RigidJob],
    scheduler: Scheduler,
    *,
    nodes: int = 1,
    round_s: int = 0,
    restart_s: int = 0,
    failing: Iterable[Outage] = (),
) -> Replayed:
    """On nodes with four devices each; checkpoints every ten seconds."""
    rules = Rules(round_ms=round_s * 1000, restart_ms=restart_s * 1000, checkpoint_ms=10_000)
    return replay(trace, scheduler, fleet=Fleet(num_nodes=nodes, per_node=4), rules=rules, outages=failing)


def ends(replayed: Replayed) -> list[float]:
    """When each job ended, in seconds."""
    return [(run.ended_ms or 0) / 1000 for run in replayed.runs]


BLOCKED = jobs((0, 10, 3), (1, 10, 4), (2, 5, 1), (3, 20, 1))  # the second blocks; the third would be done


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        (InOrder(by_arrival, skips=False), [10, 20, 25, 40]),
        (InOrder(by_arrival, skips=True), [10, 37, 7, 27]),  # the fourth goes before the second
        (Easy(), [10, 20, 7, 40]),  # only the third ends before the second can start
    ],
    ids=["fifo", "backfill", "easy"],
)
def test_who_waits_behind_a_job_that_does_not_fit(scheduler: Scheduler, expected: list[float]) -> None:
    """Strict order blocks all, backfill without a reservation starves the blocked one, EASY does neither."""
    assert ends(play(BLOCKED, scheduler)) == expected


def test_easy_lets_a_long_job_pass_that_holds_other_devices() -> None:
    """The head will take the whole first node, so a long job may take what is left of the second."""
    trace = jobs((0, 10, 4), (0, 100, 2), (1, 10, 4), (2, 50, 2))
    assert ends(play(trace, Easy(), nodes=2)) == [10, 100, 20, 52]


def test_shortest_first_starts_the_shorter_of_two_that_wait() -> None:
    """Both wait for the first."""
    trace = jobs((0, 10, 4), (1, 30, 4), (2, 5, 4))
    assert ends(play(trace, InOrder(by_runtime, skips=True))) == [10, 45, 15]


def test_shortest_remaining_evicts_and_the_restart_is_paid() -> None:
    """The long one has run 10 s, leaves for 5 s, restarts for 3 s and does its last 90 s."""
    replayed = play(jobs((0, 100, 4), (10, 5, 4)), ShortestRemaining(), restart_s=3)
    assert ends(replayed) == [108, 15]
    assert replayed.runs[0].num_starts == 2
    assert replayed.runs[0].held_ms == 103_000


def test_shortest_remaining_does_not_evict_for_a_longer_one() -> None:
    """The newcomer needs more than what is left."""
    assert ends(play(jobs((0, 20, 4), (10, 11, 4)), ShortestRemaining())) == [20, 31]


def test_shortest_remaining_evicts_no_more_than_it_needs() -> None:
    """Of two with two devices each, the one with more left makes room."""
    replayed = play(jobs((0, 50, 2), (0, 100, 2), (10, 5, 2)), ShortestRemaining())
    assert [run.num_starts for run in replayed.runs] == [1, 2, 1]
    assert ends(replayed) == [50, 105, 15]


def test_least_attained_takes_turns_by_level() -> None:
    """Level 0 ends at 40 device-seconds: 10 s for each, then the one that came first goes on."""
    replayed = play(jobs((0, 30, 4), (1, 30, 4)), LeastAttained(num_levels=2, quantum_ms=40_000))
    assert ends(replayed) == [40, 60]


def test_among_many_levels_the_lower_one_goes_on() -> None:
    """Levels end at 10, 20 and 40 s of four devices: turns of 10, 10, then 10 and 10, then 20."""
    replayed = play(jobs((0, 40, 4), (0, 40, 4)), LeastAttained(num_levels=9, quantum_ms=40_000))
    assert ends(replayed) == [60, 80]


def test_levels_may_damp_the_size_of_a_gang() -> None:
    """Four devices for 10 s are 40 device-seconds, or 20 by the square root."""
    run = Run(jobs((0, 100, 4))[0])
    run.start(((0, 4),), now_ms=0, restart_ms=0)
    assert Levels(quantum_ms=15_000).of(run, 10_000) == 2
    assert Levels(quantum_ms=15_000, damps_size=True).of(run, 10_000) == 1


def test_rounds_delay_what_is_done_but_not_what_happens() -> None:
    """The first ends at 15 and its successor starts at the next round, 20."""
    replayed = play(jobs((0, 15, 4), (1, 5, 4)), InOrder(by_arrival, skips=False), round_s=10)
    assert ends(replayed) == [15, 25]


def test_a_failed_node_costs_the_work_since_the_checkpoint() -> None:
    """At 25 s the node fails for 5 s: 5 s and the restart of 2 s are lost, then 80 s are left."""
    outage = Outage(node=0, starts_ms=25_000, ends_ms=30_000)
    replayed = play(jobs((0, 100, 4)), InOrder(by_arrival, skips=False), restart_s=2, failing=[outage])
    assert ends(replayed) == [112]
    assert replayed.runs[0].lost_device_ms == 7_000 * 4


def test_a_failure_elsewhere_harms_nobody() -> None:
    """The other node was idle."""
    outage = Outage(node=1, starts_ms=5_000, ends_ms=6_000)
    trace = jobs((0, 10, 4))
    assert ends(play(trace, InOrder(by_arrival, skips=True), nodes=2, failing=[outage])) == [10]


def test_a_job_larger_than_the_cluster_is_an_error() -> None:
    """It would wait for ever."""
    with pytest.raises(ValueError, match="never start"):
        play(jobs((0, 1, 8)), InOrder(by_arrival, skips=True))


def test_a_node_is_never_given_away_twice() -> None:
    """The fleet refuses."""
    fleet = Fleet(num_nodes=1, per_node=4)
    fleet.take(((0, 3),))
    with pytest.raises(ValueError, match="twice"):
        fleet.take(((0, 2),))


@pytest.mark.parametrize(
    ("free", "devices", "place"),
    [
        ([4, 2, 3], 2, ((1, 2),)),  # the fullest that fits
        ([4, 3, 4], 8, ((0, 4), (2, 4))),  # whole nodes
        ([4, 3, 3], 8, None),  # enough devices, but not in workers of four
        ([2, 4, 3], 6, ((1, 4), (0, 2))),  # workers of two: few nodes, and full ones
    ],
)
def test_the_placement_rule(free: list[int], devices: int, place: object) -> None:
    """Few nodes, the fullest first."""
    (job,) = jobs((0, 1, devices))
    assert best_fit(free, job, per_node=4) == place


def test_outages_come_at_the_rate_asked_for() -> None:
    """800 devices, 0.01 failures per device-day, 30 days: 240 expected, +- 4 sigma."""
    drawn = outages(num_nodes=100, per_node=8, per_device_day=0.01, until_ms=30 * 86_400_000, seed=1)
    assert 178 <= len(drawn) <= 302
    assert drawn == outages(num_nodes=100, per_node=8, per_device_day=0.01, until_ms=30 * 86_400_000, seed=1)
