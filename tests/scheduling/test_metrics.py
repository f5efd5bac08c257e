"""Measures of a finished simulation, by hand on a few jobs."""

from dataclasses import replace

import pytest

from scheduling.simulation.metrics import (
    IdleSample,
    JobRecord,
    average_contention,
    ettr,
    fairness,
    fragmentation,
    isolated_seconds,
    jct_by_size,
    size_class,
    spread,
    summarise,
)


def record(
    name: str, submitted: float, started: float | None, ended: float | None, *, devices: float = 4
) -> JobRecord:
    """A job that made the most of all that it held."""
    ran = 0.0 if started is None or ended is None else ended - started
    return JobRecord(
        id=name,
        submitted_s=submitted,
        started_s=started,
        ended_s=ended,
        num_devices=devices,
        ideal_s=ran,
        service_device_s=devices * ran,
    )


TWO_IN_A_ROW = [record("first", 0, 0, 100), record("second", 0, 100, 200)]


def test_two_jobs_in_a_row_fill_their_cluster() -> None:
    """Completion times 100 and 200, queueing 0 and 100, nothing idle."""
    found = summarise(TWO_IN_A_ROW, num_devices=4)
    assert (found.jct_s.avg, found.jct_s.p50) == (150, 150)
    assert found.jct_s.p99 == pytest.approx(199)
    assert found.queueing_s.avg == 50
    assert found.makespan_s == 200
    assert (found.allocated_utilisation, found.effective_utilisation, found.ettr) == (1, 1, 1)


def test_lost_work_is_allocated_and_not_effective() -> None:
    """An eviction threw 50 s of 4 devices away."""
    evicted = replace(
        record("evicted", 0, 0, 150),
        ideal_s=100,
        num_restarts=1,
        preempted_device_s=200,
        service_device_s=600,
    )
    found = summarise([evicted], num_devices=8)
    assert found.allocated_utilisation == 0.5
    assert found.effective_utilisation == pytest.approx(1 / 3)
    assert found.ettr == pytest.approx(2 / 3)
    assert found.num_restarts == 1
    assert found.preempted_device_hours == pytest.approx(200 / 3600)


def test_a_job_that_has_not_ended_counts_as_unfinished_alone() -> None:
    """It has no completion time; its queueing counts once it has started."""
    found = summarise([*TWO_IN_A_ROW, record("waiting", 50, None, None)], num_devices=4)
    assert (found.num_jobs, found.num_finished, found.jct_s.num, found.queueing_s.num) == (3, 2, 2, 2)


def test_nothing_gives_no_figure() -> None:
    """Not a number that looks like one."""
    found = summarise([], num_devices=4).to_json()
    assert found["makespan_s"] is None
    assert found["jct_s"] == {"num": 0, "avg": None, "p50": None, "p99": None}
    assert found["fairness"] == {"mean": None, "worst": None, "share_above_1_05": None}


@pytest.mark.parametrize(
    ("devices", "name"),
    [(0.5, "1"), (1, "1"), (2, "2-8"), (8, "2-8"), (9, "9-64"), (64, "9-64"), (65, "65+"), (1024, "65+")],
)
def test_size_classes_meet_without_gaps(devices: float, name: str) -> None:
    """A part of a device is in the class of one."""
    assert size_class(devices) == name
    assert list(jct_by_size([record("a", 0, 0, 7, devices=devices)])) == [name]


def test_percentiles_are_interpolated() -> None:
    """As numpy does by default; unknown numbers are left out."""
    assert spread([1, None, 3]).p50 == 2
    assert spread([1, 3]).p99 == pytest.approx(2.98)


def test_contention_is_the_average_number_of_jobs_present() -> None:
    """Two jobs for 100 s, then one for 100 s more."""
    assert average_contention(TWO_IN_A_ROW, TWO_IN_A_ROW).tolist() == [2, 1.5]


def test_an_unfinished_job_is_present_to_the_end() -> None:
    """It stands in everybody's way and is counted so."""
    records = [record("a", 0, 0, 100), record("never", 50, None, None)]
    assert average_contention(records, records[:1]).tolist() == [1.5]


def test_the_isolated_time_is_that_of_an_equal_share() -> None:
    """On half of 4 devices a job that asks for 4 needs twice as long; one that asks for 1 as long as ever."""
    assert isolated_seconds(record("a", 0, 0, 100), num_devices=4, contention=2) == 200
    assert isolated_seconds(record("b", 0, 0, 100, devices=1), num_devices=4, contention=2) == 100


def test_rho_compares_with_the_equal_share() -> None:
    """The second of two equal jobs: 200 s shared, 150 s isolated; the first: 100 s and 200 s."""
    found = fairness(TWO_IN_A_ROW, num_devices=4)
    assert found.worst == pytest.approx(200 / 150)
    assert found.mean == pytest.approx((0.5 + 200 / 150) / 2)
    assert found.share_above_1_05 == 0.5


def test_a_known_isolated_time_is_taken() -> None:
    """Where a throughput model knows better than proportion."""
    known = replace(TWO_IN_A_ROW[0], isolated_s=50)
    assert fairness([known], num_devices=4).mean == 2


def test_fragmentation_is_weighted_by_time() -> None:
    """10 s with 4 of 4 idle devices unusable, 30 s with none; the last sample ends the one before it."""
    samples = [
        IdleSample(at_s=0, num_idle=4, num_unusable=4),
        IdleSample(at_s=10, num_idle=4, num_unusable=0),
    ]
    end = IdleSample(at_s=40, num_idle=9, num_unusable=9)
    assert fragmentation([*samples, end]) == pytest.approx(40 / 160)
    assert fragmentation(samples[:1]) is None


def test_waiting_after_an_eviction_lowers_ettr_and_waiting_before_the_start_does_not() -> None:
    """Useful device time over wall time since the first start."""
    late = record("late", 0, 100, 200)
    assert ettr([late]) == 1
    assert ettr([replace(late, ended_s=300)]) == 0.5


def test_decision_times_are_summed_up() -> None:
    """They are measured by whoever has a clock."""
    assert summarise(TWO_IN_A_ROW, num_devices=4, decision_s=[0.1, 0.3]).decision_s.avg == pytest.approx(0.2)
