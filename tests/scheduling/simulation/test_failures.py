"""Effective training time under failures: the simulation against Young's and Daly's formulas."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from scheduling.simulation.failures import (
    BARS,
    Setting,
    daly_interval_s,
    expected_ettr,
    read_rates,
    rows,
    simulate,
    young_interval_s,
)

TRACES = Path(__file__).parents[4] / "shared" / "traces"
LARGE = Setting(num_devices=16_384, failures_per_device_day=4.74e-4, checkpoint_stall_s=1.0, restart_s=185.0)


def test_simulated_training_time_agrees_with_dalys_formula() -> None:
    """Over many weeks, for short and long restarts, and at other intervals than the best."""
    for setting in (LARGE, replace(LARGE, restart_s=70.0), replace(LARGE, interval_s=1200.0)):
        simulated = simulate(setting, weeks=1500, seed=1).ettr
        assert simulated == pytest.approx(expected_ettr(setting), abs=0.001)


def test_restarts_longer_than_the_time_between_failures_are_cut_short_too() -> None:
    """Nine of ten restarts fail; the formula knows that."""
    setting = replace(LARGE, num_devices=1_000_000, restart_s=400.0)
    account = simulate(setting, weeks=300, seed=2)
    assert account.ettr == pytest.approx(expected_ettr(setting), abs=0.01)
    assert account.restarting_s > account.trained_s


def test_the_parts_of_the_wall_time_add_up() -> None:
    """Training, stalls, lost work and restarts are all there is."""
    account = simulate(LARGE, weeks=8, seed=3)
    assert account.wall_s == pytest.approx(8 * 7 * 86_400)
    assert account.num_failures > 300
    assert account.lost_s < account.num_failures * (LARGE.training_s + LARGE.checkpoint_stall_s)


def test_without_failures_only_checkpoints_cost() -> None:
    """One second in each hundred and one."""
    setting = replace(LARGE, failures_per_device_day=1e-15, interval_s=100.0)
    account = simulate(setting, weeks=1, seed=4)
    assert account.num_failures == 0
    assert account.ettr == pytest.approx(100 / 101, abs=1e-4)


def test_youngs_interval_is_close_to_the_best_one() -> None:
    """Neither half nor twice of it does better, and Daly's is within a second."""
    young = young_interval_s(stall_s=1.0, mtbf_s=LARGE.mtbf_s)
    best = expected_ettr(LARGE)
    for factor in (0.5, 0.8, 1.25, 2.0):
        assert expected_ettr(replace(LARGE, interval_s=factor * young)) < best
    assert daly_interval_s(stall_s=1.0, mtbf_s=LARGE.mtbf_s) == pytest.approx(young, abs=1.0)


def test_intervals_are_those_of_the_table_of_published_rates() -> None:
    """Each line of the table of intervals, cut to seconds."""
    with (TRACES / "failures" / "young_daly_table.csv").open(newline="") as file:
        lines = [line for line in csv.DictReader(file) if float(line["mtbf_h"]) > 1]  # else too coarse
    assert len(lines) > 20
    for line in lines:
        mtbf_s, stall_s = float(line["mtbf_h"]) * 3600, float(line["ckpt_stall_s"])
        young = young_interval_s(stall_s=stall_s, mtbf_s=mtbf_s)
        daly = daly_interval_s(stall_s=stall_s, mtbf_s=mtbf_s)
        assert young == pytest.approx(float(line["young_interval_s"]), rel=0.005, abs=1.0)
        assert daly == pytest.approx(float(line["daly_interval_s"]), rel=0.005, abs=1.0)


def test_the_rates_are_read_by_source() -> None:
    """Llama 3's is the one of the bars; sources without a rate are left out."""
    rates = read_rates(TRACES / "failures")
    assert rates["Llama 3 405B"] == pytest.approx(4.74e-4, rel=0.002)
    assert all(rate > 0 for rate in rates.values())


def test_the_restart_times_of_the_bars_reach_them() -> None:
    """97 % with 185 s and 98 % with 70 s, at 16,384 devices."""
    found = rows(TRACES, weeks=52, seeds=range(5))
    assert [row.bar for row in found] == list(BARS.values())
    assert all(row.met for row in found)
