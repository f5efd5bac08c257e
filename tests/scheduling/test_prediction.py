"""Run times told from history: what a prediction rests on, that it is a quantile, how calibrated it is."""

import csv
from dataclasses import replace
from math import exp2
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.prediction import (
    Features,
    Grounds,
    History,
    Outcome,
    Prediction,
    RunRecord,
    calibration,
    replay,
    size_class,
)

PHILLY = Path(__file__).parents[3] / "shared" / "traces" / "philly" / "jobs.csv"
STEP = exp2(1 / 8)  # run times are told apart to an eighth of an octave
ANN = Features(user="ann", queue="research", num_devices=8, likeness="train.py")
HOUR = 3_600_000

runtimes = st.lists(st.integers(1_000, 1_000_000_000), min_size=5, max_size=60)
quantiles = st.sampled_from((0.1, 0.25, 0.5, 0.75, 0.9))


def history_of(runtimes_ms: list[int], features: Features = ANN, **settings: float) -> History:
    """A history of jobs with the same features."""
    history = History(**settings)  # type: ignore[arg-type]  # whole numbers where it wants them
    for runtime_ms in runtimes_ms:
        history.add(RunRecord(features=features, runtime_ms=runtime_ms))
    return history


def test_without_enough_samples_the_limit_is_the_prediction() -> None:
    """Four samples are too few where five are wanted; without a limit nothing is known."""
    history = history_of([HOUR] * 4, min_samples=5)
    assert history.predict(ANN, 0.5, limit_ms=7).basis is Grounds.LIMIT
    assert history.predict(ANN, 0.5, limit_ms=7).ms == 7
    assert history.predict(ANN, 0.5) == Prediction(ms=None, basis=Grounds.NONE, num_samples=0)


@pytest.mark.parametrize(
    ("asked", "basis"),
    [
        (ANN, Grounds.LIKENESS),
        (replace(ANN, likeness="other.py"), Grounds.USER),
        (replace(ANN, user="bob"), Grounds.QUEUE),
        (replace(ANN, user="bob", queue="sales"), Grounds.ALL),
    ],
)
def test_the_narrowest_group_with_samples_is_named(asked: Features, basis: Grounds) -> None:
    """Another likeness, user or queue falls back to the next wider group."""
    prediction = history_of([HOUR] * 10).predict(asked, 0.5)
    assert (prediction.basis, prediction.num_samples) == (basis, 10)


@given(runtimes, quantiles)
def test_a_prediction_is_a_quantile_of_what_was_seen(runtimes_ms: list[int], quantile: float) -> None:
    """With all samples of one group, at least that share lies at or below it, up to one step."""
    history = history_of(runtimes_ms, half_life=10**9)
    predicted = history.predict(ANN, quantile).ms
    assert predicted is not None
    num = len(runtimes_ms)
    assert sum(runtime <= predicted * STEP for runtime in runtimes_ms) >= quantile * num - 1e-6
    assert sum(runtime >= predicted / STEP for runtime in runtimes_ms) >= (1 - quantile) * num - 1e-6


@given(runtimes, st.integers(0, 2_000_000_000))
def test_higher_quantiles_and_longer_running_never_predict_less(runtimes_ms: list[int], ran_ms: int) -> None:
    """Quantiles are in order, nothing is predicted below what has run, having run on never shortens."""
    history = history_of(runtimes_ms)
    told = [history.predict(ANN, quantile, ran_ms=ran_ms).ms or 0 for quantile in (0.1, 0.5, 0.9)]
    assert told == sorted(told)
    assert told[0] >= ran_ms
    assert (history.predict(ANN, 0.5).ms or 0) <= told[1] + 1


@given(runtimes, st.integers(1, 10**9), st.integers(0, 10**9))
def test_the_limit_is_never_exceeded(runtimes_ms: list[int], limit_ms: int, ran_ms: int) -> None:
    """Limits are enforced, so nothing runs longer."""
    assert (history_of(runtimes_ms).predict(ANN, 0.9, limit_ms=limit_ms, ran_ms=ran_ms).ms or 0) <= limit_ms


def test_a_job_that_outran_all_others_is_given_as_long_again() -> None:
    """History has nothing left to say."""
    assert history_of([HOUR] * 20).predict(ANN, 0.5, ran_ms=10 * HOUR).ms == 20 * HOUR


def test_having_run_long_changes_what_is_expected() -> None:
    """Nine in ten take a minute, one ten hours: one that has run for an hour is a long one."""
    history = history_of([60_000] * 90 + [10 * HOUR] * 10, half_life=10**9)
    assert (history.predict(ANN, 0.5).ms or 0) < 120_000
    assert (history.predict(ANN, 0.5, ran_ms=HOUR).ms or 0) > 9 * HOUR


def test_recent_samples_count_more() -> None:
    """Five half-lives after a change the old run times are forgotten."""
    history = history_of([HOUR] * 100 + [60_000] * 50, half_life=10)
    assert (history.predict(ANN, 0.9).ms or 0) < 120_000


def test_one_odd_run_time_moves_the_median_little() -> None:
    """A job of a month among hours."""
    assert (history_of([HOUR] * 20 + [700 * HOUR]).predict(ANN, 0.5).ms or 0) < 2 * HOUR


def test_few_samples_lean_on_the_wider_group() -> None:
    """Five quick runs do not promise that nine in ten are quick when the queue's are long."""
    history = history_of([10 * HOUR] * 200, replace(ANN, user="bob"))
    for _ in range(5):
        history.add(RunRecord(features=ANN, runtime_ms=60_000))
    assert (history.predict(ANN, 0.9).ms or 0) > HOUR


def test_a_long_history_stays_finite() -> None:
    """Weights grow with each sample and are scaled back in time."""
    prediction = history_of([HOUR] * 2_000, half_life=1).predict(ANN, 0.5)
    assert HOUR / STEP <= (prediction.ms or 0) <= HOUR * STEP


@pytest.mark.parametrize(("num_devices", "size"), [(0, 1), (1, 1), (2, 2), (3, 4), (8, 8), (9, 16)])
def test_sizes_are_classed_by_powers_of_two(num_devices: int, size: int) -> None:
    """Rounded up."""
    assert size_class(num_devices) == size


def test_calibration_counts_shares_errors_and_coverage() -> None:
    """Two predictions of an hour, one kept, one missed by an octave, and one job without a prediction."""
    known = Prediction(ms=HOUR, basis=Grounds.USER, num_samples=9)
    unknown = Prediction(ms=None, basis=Grounds.NONE, num_samples=0)
    outcomes = [
        Outcome(quantile=0.5, prediction=known, runtime_ms=HOUR),
        Outcome(quantile=0.5, prediction=known, runtime_ms=2 * HOUR),
        Outcome(quantile=0.5, prediction=unknown, runtime_ms=HOUR),
    ]
    (told,) = calibration(outcomes)
    assert (told.share_below, told.mean_abs_log2_error) == (0.5, 0.5)
    assert told.coverage == pytest.approx(2 / 3)


def test_predictions_are_calibrated_on_a_real_cluster() -> None:
    """Philly, each job predicted from those that had ended: shares within 0.06 of the quantile.

    They err to the short side: jobs that still run, the longest ones among them, are not known yet.
    """
    with PHILLY.open() as file:
        rows = list(csv.DictReader(file))[:20_000]
    jobs = [
        (
            round(float(row["submit_s"]) * 1000),
            Features(user=row["vc"], queue=row["vc"], num_devices=int(row["num_gpus"])),
            round(float(row["duration_s"]) * 1000),
        )
        for row in rows
    ]
    for told in calibration(replay(jobs, History(), quantiles=(0.25, 0.5, 0.9))):
        assert told.share_below == pytest.approx(told.quantile, abs=0.06)
        assert told.coverage > 0.99
        assert told.mean_abs_log2_error < 3.5
