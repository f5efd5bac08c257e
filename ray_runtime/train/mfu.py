"""Model FLOPs utilisation: the model's operations for each second over what the device can do at most."""

import contextlib
import hashlib
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from ray_runtime.train.batches import Batch, count_samples, micro_batches
from ray_runtime.train.cache_folder import cache_folder, replace_whole

_SIDE = {"cpu": 1024, "cuda": 8192}
_ROUNDS = 4


def flops_per_sample(model: nn.Module, loss: Callable[..., torch.Tensor], batch: Batch) -> float:
    """Operations of forward and backward for one sample, counted by torch while it does them once.

    The plain attention kernel is used: the counter has no entry for the fused one of CPUs. Only matrix
    products and convolutions count, causal attention in full, as is usual for MFU. Gradients are left
    changed.
    """
    one = next(micro_batches(batch, 1))
    inputs, targets = one
    counter = FlopCounterMode(display=False)
    with torch.random.fork_rng(), sdpa_kernel(SDPBackend.MATH), counter:
        loss(model(inputs), targets).backward()  # type: ignore[no-untyped-call]  # torch leaves it so
    return float(counter.get_total_flops()) / count_samples(one)


def peak_flops(device: torch.device, dtype: torch.dtype, *, cache: Path | None = None) -> float:
    """The device's best speed in a large matrix product with this process's threads; measured once a node."""
    path = (cache or cache_folder()) / f"peak-{_device_key(device, dtype)}.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return float(json.loads(path.read_text())["flops"])
    measured = _measure(device, dtype)
    with contextlib.suppress(OSError):
        replace_whole(path, json.dumps({"flops": measured}).encode())
    return measured


def _measure(device: torch.device, dtype: torch.dtype) -> float:
    side = _SIDE.get(device.type, 1024)
    a, b = (torch.randn(side, side).to(device, dtype) for _ in range(2))
    best = min(_timed(lambda: a @ b, device) for _ in range(_ROUNDS))
    return 2.0 * side**3 / best


def _timed(act: Callable[[], Any], device: torch.device) -> float:
    _settle(device)
    started = time.perf_counter()
    act()
    _settle(device)
    return time.perf_counter() - started


def _settle(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _device_key(device: torch.device, dtype: torch.dtype) -> str:
    name = (
        torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else torch.backends.cpu.get_cpu_capability()
    )
    parts = (
        platform.node(),
        platform.processor(),
        os.cpu_count(),
        name,
        dtype,
        torch.get_num_threads(),
        torch.__version__,
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
