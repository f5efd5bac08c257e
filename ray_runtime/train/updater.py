"""One optimiser step on one rank: micro-batches forward and backward, sum over ranks, clipping, update."""

import random
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import cast

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from ray_runtime.train.batches import Batch, count_samples, micro_batches, to_device
from ray_runtime.train.collectives import Ranks
from ray_runtime.train.gradients import GradientBuckets
from ray_runtime.train.order import mixed_seed
from ray_runtime.train.precision import Precision, autocast

# A factor of each group's first rate for step 0, 1, ...; or a scheduler of torch's, stepped after each
# update.
Schedule = Callable[[int], float] | LRScheduler
LossFunction = Callable[..., torch.Tensor]


@dataclass(frozen=True, slots=True)
class Update:
    """What one rank knows after a step: its part of the mean loss, and the norm of the gradient of all."""

    loss_part: float
    grad_norm: float


class Updater:
    """Owns the gradients and the learning rate of one run."""

    def __init__(
        self,
        model: nn.Module,
        *,
        optimizer: Optimizer,
        loss: LossFunction,
        schedule: Schedule | None,
        micro_batch: int | None,
        clip: float | None,
        precision: Precision,
        seed: int,
        ranks: Ranks,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.loss = loss
        self.precision = precision
        self.device = ranks.device
        self.scheduler = schedule if isinstance(schedule, LRScheduler) else None
        self._factor = schedule if callable(schedule) else None
        self._micro_batch = micro_batch
        self._clip = clip
        self._seed = seed
        self._rank = ranks.rank
        if self._factor is not None:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", group["lr"])
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self._buckets = GradientBuckets(trained, world_size=ranks.world_size)

    @property
    def learning_rate(self) -> float:
        """The first parameter group's present rate."""
        return float(self.optimizer.param_groups[0]["lr"])

    def update(self, batch: Batch, *, step: int, sample_weight: float) -> Update:
        """Take one step; each sample's loss counts `sample_weight` (one over all ranks' samples, or zero)."""
        self._seed_everything(step)
        if self._factor is not None:
            self._set_rates(self._factor(step))
        self._buckets.zero()
        loss_part = self._accumulate(to_device(batch, self.device), sample_weight)
        norm = self._buckets.clip(self._clip)
        self.optimizer.step()
        if self.scheduler is not None:
            self.scheduler.step()
        return Update(float(loss_part), norm)

    def _accumulate(self, batch: Batch, sample_weight: float) -> torch.Tensor:
        total = torch.zeros((), device=self.device, dtype=torch.float64)
        pieces = list(micro_batches(batch, self._micro_batch or count_samples(batch)))
        for i, piece in enumerate(pieces):
            last = i == len(pieces) - 1
            context: AbstractContextManager[None] = self._buckets.summed() if last else nullcontext()
            part = self._weighted_loss(piece, sample_weight)
            with context:
                part.backward()  # type: ignore[no-untyped-call]  # torch leaves it so
            total += part.detach()
        return total

    def _weighted_loss(self, piece: Batch, sample_weight: float) -> torch.Tensor:
        inputs, targets = piece
        with autocast(self.precision, self.device):
            loss = self.loss(self.model(inputs), targets)
        return loss * (sample_weight * count_samples(piece))

    def _set_rates(self, factor: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = group["initial_lr"] * factor

    def _seed_everything(self, step: int) -> None:
        """A resumed step draws the same numbers as an uninterrupted one, whatever was drawn before."""
        seed = mixed_seed(self._seed, step, self._rank)
        torch.manual_seed(seed)
        random.seed(seed)
        if "numpy" in sys.modules:
            cast("object", sys.modules["numpy"]).random.seed(seed & 0xFFFFFFFF)  # type: ignore[attr-defined]  # a module
