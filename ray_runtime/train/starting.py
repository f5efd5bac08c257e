"""`start`: from a model, an optimiser, data and a loss to a run that can stop and go on."""

import os
from pathlib import Path
from typing import Any

from torch import nn
from torch.optim import Optimizer

from ray_runtime.reporter import from_environment
from ray_runtime.train.batches import Source
from ray_runtime.train.checkpoints import CheckpointPlan, Checkpoints
from ray_runtime.train.collectives import broadcast_module, join
from ray_runtime.train.environment import read_environment
from ray_runtime.train.order import SampleOrder
from ray_runtime.train.precision import Precision, resolve
from ray_runtime.train.run import Run
from ray_runtime.train.updater import LossFunction, Schedule, Updater

_DEFAULT_BATCH = 32
_METRICS_SECONDS = 0.05  # a toy's loop of 1,000 steps/s must not become 1,000 lines/s


def start(
    *,
    model: nn.Module,
    optimizer: Optimizer,
    data: Any,
    loss: LossFunction,
    steps: int | None = None,
    epochs: int = 1,
    batch_size: int | None = None,
    micro_batch: int | None = None,
    schedule: Schedule | None = None,
    clip: float | None = None,
    precision: str = "fp32",
    seed: int = 0,
    checkpoint_dir: Path | str | None = None,
    checkpoint_every: str | None = None,
    checkpoint_keep: int | None = None,
    metrics_seconds: float = _METRICS_SECONDS,
) -> Run:
    """Join the job's other workers, restore the newest whole checkpoint, and return the run.

    `data` is a data set with a length and items (inputs, targets), or a `DataLoader` over one.
    `loss(model(inputs), targets)` is a mean over samples. `batch_size` (or the loader's) counts over all
    workers, whatever their number; `micro_batch` limits what one of them takes at a time. The run lasts
    `steps`, or `epochs` over the data. Checkpoint settings come from the platform unless given; outside it
    and without them, nothing is saved.
    """
    environment = read_environment(os.environ)
    ranks = join(environment)
    model.to(ranks.device)
    broadcast_module(model, ranks)
    source = Source(data)
    order = SampleOrder(
        num_samples=len(source),
        global_batch=batch_size or source.batch_size or _DEFAULT_BATCH,
        seed=seed,
        shuffle=source.shuffle,
    )
    updater = Updater(
        model,
        optimizer=optimizer,
        loss=loss,
        schedule=schedule,
        micro_batch=micro_batch,
        clip=clip,
        precision=resolve(Precision(precision), ranks.device),
        seed=seed,
        ranks=ranks,
    )
    reporter = from_environment(os.environ)
    plan = CheckpointPlan(
        directory=Path(checkpoint_dir) if checkpoint_dir else environment.checkpoint_dir,
        every=checkpoint_every or environment.checkpoint_every,
        keep=checkpoint_keep or environment.checkpoint_keep,
        start_from=environment.resume_from,
    )
    return Run(
        ranks=ranks,
        updater=updater,
        source=source,
        order=order,
        total_steps=steps or epochs * order.steps_per_epoch,
        checkpoints=Checkpoints(plan, model=model, optimizer=optimizer, ranks=ranks, reporter=reporter),
        reporter=reporter,
        metrics_seconds=metrics_seconds,
    )
