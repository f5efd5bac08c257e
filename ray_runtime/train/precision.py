"""Which number format the matrix products use. Weights, gradients and optimiser state stay FP32."""

import contextlib
from contextlib import AbstractContextManager
from enum import StrEnum

import torch


class Precision(StrEnum):
    """`FP32` leaves the model's own types alone; `BF16` is autocast around forward and loss."""

    AUTO = "auto"
    BF16 = "bf16"
    FP32 = "fp32"


def resolve(precision: Precision, device: torch.device) -> Precision:
    """What `AUTO` means on this device: BF16 where the hardware multiplies it."""
    if precision is not Precision.AUTO:
        return precision
    return Precision.BF16 if _multiplies_bf16(device) else Precision.FP32


def autocast(precision: Precision, device: torch.device) -> AbstractContextManager[object]:
    """The context for one forward pass."""
    if precision is Precision.BF16:
        return torch.autocast(device.type, torch.bfloat16)
    return contextlib.nullcontext()


def _multiplies_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # get_capabilities() names the same flags but is not in every build
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
