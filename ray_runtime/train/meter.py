"""Turns a step's times into what people read: tokens per second, MFU, and one log line."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import nn

from ray_runtime.train import mfu
from ray_runtime.train.batches import Batch
from ray_runtime.train.precision import Precision
from ray_runtime.train.updater import LossFunction


@dataclass(slots=True, kw_only=True)
class Meter:
    """Rank 0's measurements. MFU is there once `calibrate` has been called and the model could be counted."""

    world_size: int
    _tokens_per_sample: int = field(default=0, init=False)
    _flops_per_sample: float = field(default=0.0, init=False)
    _peak_flops: float = field(default=0.0, init=False)
    calibrated: bool = field(default=False, init=False)

    def calibrate(
        self,
        model: nn.Module,
        *,
        loss: LossFunction,
        batch: Batch,
        device: torch.device,
        precision: Precision,
    ) -> None:
        """Count the model's operations on a copy of it and measure the device, both once."""
        self.calibrated = True
        self._tokens_per_sample = _tokens_per_sample(batch)
        dtype = torch.bfloat16 if precision is Precision.BF16 else next(model.parameters()).dtype
        try:
            self._flops_per_sample = mfu.flops_per_sample(copy.deepcopy(model), loss, batch)
        except (RuntimeError, TypeError, ValueError, NotImplementedError):
            return  # a model that cannot be copied or counted has no MFU; it trains all the same
        self._peak_flops = mfu.peak_flops(device, dtype)

    def values(self, *, num_samples: int, step_seconds: float, data_seconds: float) -> dict[str, float]:
        """The step's measurements over all ranks, by metric name."""
        rate = num_samples / max(step_seconds + data_seconds, 1e-9)
        values = {"step_seconds": step_seconds, "data_seconds": data_seconds, "samples_per_second": rate}
        if self._tokens_per_sample:
            values["tokens_per_second"] = rate * self._tokens_per_sample
        if self._flops_per_sample and self._peak_flops:
            values["mfu"] = rate * self._flops_per_sample / (self._peak_flops * self.world_size)
        return values


def log_line(step: int, total_steps: int, values: Mapping[str, float]) -> str:
    """One step for a human reader."""
    parts = [f"step {step}/{total_steps}", f"loss {values['loss']:.4f}", f"lr {values['learning_rate']:.3g}"]
    parts.append(f"grad {values['grad_norm']:.3g}")
    if "tokens_per_second" in values:
        parts.append(f"{values['tokens_per_second']:,.0f} tokens/s")
    if "mfu" in values:
        parts.append(f"MFU {values['mfu']:.1%}")
    return "  ".join([*parts, f"{values['step_seconds']:.3f} s"])


def _tokens_per_sample(batch: Batch) -> int:
    """Samples of whole numbers with a second dimension are taken for token sequences."""
    inputs = batch[0] if isinstance(batch, (list, tuple)) else None
    is_tokens = isinstance(inputs, torch.Tensor) and inputs.dim() == 2 and not inputs.is_floating_point()
    return int(inputs.shape[1]) if is_tokens and inputs is not None else 0
