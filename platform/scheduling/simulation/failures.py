"""Effective training time of one large job that devices keep failing under: simulated, and in closed form.

A job trains, stands still for each checkpoint, and after a failure restarts and does again what came after
its last whole checkpoint. Failures are independent and memoryless; one of any device stops all of them, also
while it restarts. Restart time is a parameter: what the runtime really reaches is measured elsewhere.
"""

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scheduling.simulation.report import Row

SECONDS_PER_DAY = 86_400.0
SOURCE = "Llama 3 405B"  # whose rate the bars are for
BARS = {185.0: 97.0, 70.0: 98.0}  # restart seconds: percent of effective training time
NUM_DEVICES = 16_384
CHECKPOINT_STALL_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A job and what happens to it. `interval_s`: training between two checkpoints; None: by Young."""

    num_devices: int
    failures_per_device_day: float
    checkpoint_stall_s: float
    restart_s: float
    interval_s: float | None = None

    @property
    def mtbf_s(self) -> float:
        """Mean time between failures of the whole job."""
        return SECONDS_PER_DAY / (self.num_devices * self.failures_per_device_day)

    @property
    def training_s(self) -> float:
        """Training between two checkpoints."""
        if self.interval_s is not None:
            return self.interval_s
        return young_interval_s(stall_s=self.checkpoint_stall_s, mtbf_s=self.mtbf_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Where the wall time went. The four parts add up to it."""

    trained_s: float  # and kept in a checkpoint, or still unharmed at the end
    stalled_s: float  # for checkpoints that were completed
    lost_s: float  # after the last whole checkpoint before a failure
    restarting_s: float
    num_failures: int

    @property
    def wall_s(self) -> float:
        """From the first step to the end."""
        return self.trained_s + self.stalled_s + self.lost_s + self.restarting_s

    @property
    def ettr(self) -> float:
        """Effective training time ratio: training that lasted over wall time."""
        return self.trained_s / self.wall_s


def young_interval_s(*, stall_s: float, mtbf_s: float) -> float:
    """The best interval, to first order: sqrt(2 x stall x MTBF) (Young, "A first order approximation to the
    optimum checkpoint interval", CACM 17(9), 1974).
    """
    return math.sqrt(2 * stall_s * mtbf_s)


def daly_interval_s(*, stall_s: float, mtbf_s: float) -> float:
    """The best interval to higher order (Daly, "A higher order estimate of the optimum checkpoint interval
    for restart dumps", FGCS 22, 2006, equation 37).
    """
    if stall_s >= 2 * mtbf_s:
        return mtbf_s
    ratio = stall_s / (2 * mtbf_s)
    return math.sqrt(2 * stall_s * mtbf_s) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - stall_s


def expected_ettr(setting: Setting) -> float:
    """Training over expected wall time (Daly 2006, equation 20): one interval takes
    M x e^(R/M) x (e^((interval + stall)/M) - 1), with MTBF M and restart time R.
    """
    mtbf = setting.mtbf_s
    cycle = setting.training_s + setting.checkpoint_stall_s
    wall = mtbf * math.exp(setting.restart_s / mtbf) * math.expm1(cycle / mtbf)
    return setting.training_s / wall


def simulate(setting: Setting, *, weeks: float, seed: int) -> Account:
    """Lives through the weeks, failure by failure."""
    drawing = np.random.default_rng(seed)
    end, now = weeks * 7 * SECONDS_PER_DAY, 0.0
    life = _Life(setting)
    while now < end:
        until = min(float(drawing.exponential(setting.mtbf_s)), end - now)
        now += until
        life.live(until, fails=now < end)
    return life.account()


class _Life:
    """Runs up to the next failure, one after the other, and adds up where the time went."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._restart_left_s = 0.0
        self._trained_s = self._stalled_s = self._lost_s = self._restarting_s = 0.0
        self._num_failures = 0

    def live(self, seconds: float, *, fails: bool) -> None:
        """So many seconds go by, and then a failure comes, or the end."""
        restarting = min(seconds, self._restart_left_s)
        self._restarting_s += restarting
        running = seconds - restarting
        cycle = self._setting.training_s + self._setting.checkpoint_stall_s
        num_saved = int(running // cycle)
        self._trained_s += num_saved * self._setting.training_s
        self._stalled_s += num_saved * self._setting.checkpoint_stall_s
        if fails:
            self._num_failures += 1
            self._lost_s += running - num_saved * cycle
            self._restart_left_s = self._setting.restart_s
        else:
            rest = running - num_saved * cycle
            self._trained_s += min(rest, self._setting.training_s)
            self._stalled_s += max(rest - self._setting.training_s, 0.0)

    def account(self) -> Account:
        """The sums."""
        return Account(
            trained_s=self._trained_s,
            stalled_s=self._stalled_s,
            lost_s=self._lost_s,
            restarting_s=self._restarting_s,
            num_failures=self._num_failures,
        )


def read_rates(directory: Path) -> Mapping[str, float]:
    """Failures per device-day by source, where the source allows to work them out."""
    with (directory / "failure_rates.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    return {
        line["source"].split(" (")[0]: float(line["derived_per_gpu_day"])
        for line in lines
        if line["derived_per_gpu_day"]
    }


def rows(traces: Path, *, weeks: float = 52, seeds: Iterable[int] = range(10)) -> list[Row]:
    """The quality table's rows: the mean of the simulated runs for each restart time that has a bar."""
    rate, drawn = read_rates(traces / "failures")[SOURCE], tuple(seeds)
    found = []
    for restart_s, bar in BARS.items():
        setting = Setting(
            num_devices=NUM_DEVICES,
            failures_per_device_day=rate,
            checkpoint_stall_s=CHECKPOINT_STALL_S,
            restart_s=restart_s,
        )
        runs = [simulate(setting, weeks=weeks, seed=seed).ettr for seed in drawn]
        row = Row(
            work=f"{NUM_DEVICES:,} devices that fail",
            policy=f"restart {restart_s:.0f} s",
            metric="effective training time",
            value=100 * float(np.mean(runs)),
            unit="%",
            published=97.0 if bar == 97.0 else None,  # ByteRobust
        )
        found.append(row.held_to(at_least=bar))
    return found
