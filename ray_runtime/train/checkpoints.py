"""The checkpoints of one run: when one is due, taking it, and telling of it."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn
from torch.optim import Optimizer

from ray_runtime.protocol import WorkerEvent
from ray_runtime.reporter import Reporter
from ray_runtime.train import restore, state
from ray_runtime.train.cadence import Cadence, parse_every
from ray_runtime.train.collectives import Ranks
from ray_runtime.train.saver import Saved, Saver


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPlan:
    """Where checkpoints go, how often, how many stay, and which one to start from when there are none yet."""

    directory: Path | None
    every: str
    keep: int
    start_from: Path | None


class Checkpoints:
    """Without a directory nothing is saved and every question is answered with no."""

    def __init__(
        self,
        plan: CheckpointPlan,
        *,
        model: nn.Module,
        optimizer: Optimizer,
        ranks: Ranks,
        reporter: Reporter,
    ) -> None:
        self._plan = plan
        self._model = model
        self._optimizer = optimizer
        self._control = ranks.control
        self._reporter = reporter
        self._saver: Saver | None = None
        self._cadence: Cadence | None = None
        self._saved_step = -1
        self._usual_seconds = 0.0
        self._cost = 0.0
        self._costing = False
        if plan.directory is not None:
            self._saver = Saver(plan.directory, ranks.saving, keep=plan.keep, committed=self._committed)

    def resume(self) -> dict[str, Any] | None:
        """Restore the newest whole checkpoint and return its facts; None when there is none."""
        plan = self._plan
        folder = restore.choose(plan.directory, plan.start_from, self._control, damaged=self._damaged)
        facts = None
        if folder is not None:
            own = folder.parent == plan.directory
            facts = restore.load(folder, self._model, self._optimizer, rates=own)
            self._saved_step = int(facts["step"]) if own else -1
        step = int(facts["step"]) if facts else 0
        self._cadence = Cadence(
            parse_every(plan.every), workers=self._control.world_size, now=time.monotonic(), step=step
        )
        return facts

    def due(self, step: int) -> bool:
        """Whether this rank would save after `step` steps; rank 0's answer counts."""
        if self._saver is None or self._cadence is None or self._saver.busy:
            return False
        return self._cadence.due(step, time.monotonic())

    def begin(self, step: int, facts: dict[str, Any], *, alone: bool = False) -> None:
        """Save the state after `step` steps; returns as soon as it is staged."""
        if self._saver is None or self._cadence is None or step == self._saved_step:
            return
        tensors = state.live_tensors(self._model, self._optimizer)
        tensors[state.PROGRESS] = state.progress_of(self._optimizer, {**facts, "step": step})
        self._saved_step = step
        self._cadence.started(step, time.monotonic())
        self._cost, self._costing = self._saver.begin(step, tensors, alone=alone), True

    def finish(self, step: int, facts: dict[str, Any]) -> None:
        """Save the state after this process's last step and wait for its commit; raises if it fails."""
        if self._saver is None:
            return
        self._saver.wait()
        self._warn_of_failure()
        self.begin(step, facts, alone=True)
        self._saver.wait()
        error = self._saver.failure()
        if error is not None:
            raise error

    def observe(self, step_seconds: float) -> None:
        """Learn from each step what saving costs, and hear of saves that failed."""
        if self._saver is None or self._cadence is None:
            return
        if self._saver.busy:
            self._cost += max(0.0, step_seconds - self._usual_seconds)
            return
        usual = self._usual_seconds or step_seconds
        self._usual_seconds = 0.8 * usual + 0.2 * step_seconds
        if self._costing:
            self._costing = False
            self._cadence.cost(self._cost)
        self._warn_of_failure()

    def _warn_of_failure(self) -> None:
        """A periodic save that failed is no reason to stop: earlier ones are there, the next may work."""
        error = self._saver.failure() if self._saver is not None else None
        if error is not None:
            sys.stderr.write(f"gangline: the checkpoint at step {self._saved_step} was not saved: {error}\n")
            self._saved_step = -1

    def _committed(self, saved: Saved) -> None:
        self._reporter.emit(
            WorkerEvent.CHECKPOINT,
            step=saved.step,
            path=str(saved.folder),
            size_bytes=saved.size_bytes,
            seconds=round(saved.seconds, 4),
            stall_seconds=round(saved.stall_seconds, 4),
        )

    def _damaged(self, folder: Path, why: str) -> None:
        sys.stderr.write(f"gangline: {folder} is damaged and passed over: {why}\n")
        self._reporter.emit(WorkerEvent.DAMAGED, step=0, path=str(folder), why=why)
