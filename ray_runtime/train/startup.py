"""Keeps torch's compiler out of processes that compile nothing: a second of imports in each rank.

torch calls `torch._dynamo.disable` lazily around optimiser methods and dispatch modes, and imports the
compiler for it. Where nothing is compiled that call has no effect but the import.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Adam, Optimizer
from torch.utils import flop_counter

_GUARDED = ("add_param_group", "zero_grad", "state_dict", "load_state_dict")


def spare_compiler() -> None:
    """For a process that will never compile. With another torch that is built otherwise it does nothing."""
    for name in _GUARDED:
        _unguard(getattr(Optimizer, name, None))
    _unguard(getattr(getattr(flop_counter, "_FlopCounterMode", None), "__torch_dispatch__", None))
    inner = getattr(Adam.step, "__wrapped__", None)
    if inner is not None:
        Adam.step = torch.no_grad()(inner)  # type: ignore[method-assign]  # what the wrapper does, less its import


def _unguard(method: Callable[..., Any] | None) -> None:
    """Answer the guard's question "have I looked this up before?" with yes: the plain function."""
    inner = getattr(method, "__wrapped__", None)
    if inner is not None:
        inner.__dict__.setdefault("__dynamo_disable", inner)
