"""The training loop that recipes and users' programs share: iterate, `step`, `log`."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from torch.optim.lr_scheduler import LRScheduler

from ray_runtime.protocol import WorkerEvent
from ray_runtime.reporter import Reporter
from ray_runtime.train.batches import Batch, Source
from ray_runtime.train.checkpoints import Checkpoints
from ray_runtime.train.collectives import Ranks
from ray_runtime.train.meter import Meter, log_line
from ray_runtime.train.order import SampleOrder, share
from ray_runtime.train.stop_signal import StopSignal
from ray_runtime.train.updater import Updater


class DataChangedError(RuntimeError):
    """The checkpoint was made over other data: its position means nothing in these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """What the ranks agreed on in one step."""

    values: dict[str, float]
    seconds: float
    num_samples: int
    stops: bool
    saves: bool


class Run:
    """Iterate over it for batches; call `step` once for each. Made by `ray_runtime.train.start`."""

    def __init__(
        self,
        *,
        ranks: Ranks,
        updater: Updater,
        source: Source,
        order: SampleOrder,
        total_steps: int,
        checkpoints: Checkpoints,
        reporter: Reporter,
        metrics_seconds: float,
    ) -> None:
        self.total_steps = total_steps
        self.steps_done = 0
        self.rank = ranks.rank
        self.world_size = ranks.world_size
        self.device = ranks.device
        self._control = ranks.control
        self._updater = updater
        self._source = source
        self._order = order
        self._checkpoints = checkpoints
        self._reporter = reporter
        self._metrics_seconds = metrics_seconds
        self._metrics_at = 0.0
        self._meter = Meter(world_size=ranks.world_size)
        self._stop = StopSignal()
        self._last: _Step | None = None
        self._resume()

    def __iter__(self) -> Iterator[Batch]:
        """This rank's part of each remaining step; after a SIGTERM it saves and raises `SystemExit(0)`.

        After the last step the final checkpoint is saved, the run counts as finished, and SIGTERM is ignored:
        what the program does then (export, evaluate) it is left to do within the platform's grace.
        """
        with self._stop:
            batches = self._source.batches(self._shares())
            while self.steps_done < self.total_steps:
                started = time.perf_counter()
                batch = next(batches)
                data_seconds = time.perf_counter() - started
                expected = self.steps_done + 1
                yield batch
                if self.steps_done != expected or self._last is None:
                    raise RuntimeError("call run.step(batch) exactly once in every turn of the loop")
                self._close(self._last, batch, data_seconds)
            self._checkpoints.finish(self.steps_done, self._facts())
            self._stop.ignore_for_good()
            self._report(WorkerEvent.FINISHED)

    def step(self, batch: Batch) -> float:
        """Forward, backward and update for one step; returns the mean loss over the samples of all ranks."""
        started = time.perf_counter()
        step, count = self.steps_done, self._order.count(self.steps_done)
        weight = 1.0 / count if self._share(step) else 0.0
        update = self._updater.update(batch, step=step, sample_weight=weight)
        due = self.rank == 0 and self._checkpoints.due(step + 1)
        loss, stops, saves = self._control.sum([update.loss_part, float(self._stop.requested), float(due)])
        self.steps_done += 1
        self._last = _Step(
            values={
                "loss": loss,
                "learning_rate": self._updater.learning_rate,
                "grad_norm": update.grad_norm,
            },
            seconds=time.perf_counter() - started,
            num_samples=count,
            stops=stops > 0,
            saves=saves > 0,
        )
        return loss

    def log(self, **values: float | torch.Tensor) -> None:
        """Add values to the present step's metrics (rank 0's are kept)."""
        if self._last is not None:
            self._last.values.update({name: float(value) for name, value in values.items()})

    def say(self, text: str) -> None:
        """Print a line, once for the whole run."""
        if self.rank == 0:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def _resume(self) -> None:
        facts = self._checkpoints.resume()
        if facts is not None:
            if facts["data"] != self._order.fingerprint:
                raise DataChangedError(
                    f"the checkpoint was made over {facts['data']}, not {self._order.fingerprint}"
                )
            if self._updater.scheduler is not None and facts["schedule"] is not None:
                self._updater.scheduler.load_state_dict(facts["schedule"])
            self.steps_done = int(facts["step"])
            self.say(f"resumed after step {self.steps_done}")
        resumed_from = self.steps_done if facts is not None else None
        self._report(
            WorkerEvent.STARTED,
            total_steps=self.total_steps,
            resumed_from=resumed_from,
            world_size=self.world_size,
        )

    def _shares(self) -> Iterator[list[int]]:
        """The ids of this rank's samples, step by step; a stand-in where ranks outnumber samples."""
        for step in range(self.steps_done, self.total_steps):
            yield self._share(step) or self._order.ids(step)[:1]

    def _share(self, step: int) -> list[int]:
        return share(self._order.ids(step), rank=self.rank, world_size=self.world_size)

    def _close(self, step: _Step, batch: Batch, data_seconds: float) -> None:
        self._tell(step, data_seconds)
        self._checkpoints.observe(step.seconds)
        if self.steps_done == self.total_steps:
            return
        if step.stops:
            self._leave()
        if step.saves:
            self._checkpoints.begin(self.steps_done, self._facts())
        if self.rank == 0 and not self._meter.calibrated:
            updater = self._updater
            self._meter.calibrate(
                updater.model, loss=updater.loss, batch=batch, device=self.device, precision=updater.precision
            )

    def _tell(self, step: _Step, data_seconds: float) -> None:
        now = time.monotonic()
        ends = step.stops or self.steps_done == self.total_steps
        if self.rank != 0 or not (ends or now - self._metrics_at >= self._metrics_seconds):
            return
        self._metrics_at = now
        measured = self._meter.values(
            num_samples=step.num_samples, step_seconds=step.seconds, data_seconds=data_seconds
        )
        values = {**measured, **step.values}
        self._reporter.metrics(self.steps_done, values)
        self.say(log_line(self.steps_done, self.total_steps, values))

    def _leave(self) -> NoReturn:
        self._checkpoints.finish(self.steps_done, self._facts())
        self.say(f"stopped as asked after step {self.steps_done}")
        raise SystemExit(0)

    def _facts(self) -> dict[str, Any]:
        scheduler = self._updater.scheduler
        return {
            "world_size": self.world_size,
            "data": self._order.fingerprint,
            "schedule": scheduler.state_dict() if isinstance(scheduler, LRScheduler) else None,
        }

    def _report(self, kind: WorkerEvent, **data: Any) -> None:
        if self.rank == 0:
            self._reporter.emit(kind, step=self.steps_done, **data)
