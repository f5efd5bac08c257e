"""All that must survive a restart, as named tensors: weights, buffers, optimiser state, progress.

Random numbers are seeded from (seed, step, rank) at each step, so they have no state of their own.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import nn
from torch.optim import Optimizer

MODEL = "model."
OPTIMIZER = "optimizer."
PROGRESS = "progress"


def live_tensors(model: nn.Module, optimizer: Optimizer) -> dict[str, torch.Tensor]:
    """The tensors in use, by name; not copies. Optimiser state is filed under its parameter's name."""
    tensors = {MODEL + name: value for name, value in model.state_dict().items()}
    names = _parameter_names(model, optimizer)
    for index, values in optimizer.state_dict()["state"].items():
        for key, value in values.items():
            if isinstance(value, torch.Tensor):
                tensors[f"{OPTIMIZER}{names[index]}.{key}"] = value
    return tensors


def progress_of(optimizer: Optimizer, facts: Mapping[str, Any]) -> torch.Tensor:
    """`facts` and the optimiser's plain values (rates, betas) as JSON in a byte tensor."""
    packed = optimizer.state_dict()
    groups = [{key: value for key, value in g.items() if _is_plain(value)} for g in packed["param_groups"]]
    values = {str(i): {k: v for k, v in s.items() if _is_plain(v)} for i, s in packed["state"].items()}
    document = json.dumps({**facts, "groups": groups, "values": values})
    return torch.frombuffer(bytearray(document.encode()), dtype=torch.uint8)


def facts_in(tensor: torch.Tensor) -> dict[str, Any]:
    """The inverse of `progress_of`."""
    return cast(dict[str, Any], json.loads(bytes(tensor.tolist())))


def restore_optimizer(
    model: nn.Module,
    optimizer: Optimizer,
    *,
    tensors: Mapping[str, torch.Tensor],
    facts: Mapping[str, Any],
    rates: bool,
) -> None:
    """Put saved optimiser state back under the parameters that bear its names now.

    With `rates` the saved learning rates, betas and so on count, else those that the program has set.
    """
    packed = optimizer.state_dict()
    names = _parameter_names(model, optimizer)
    state: dict[int, dict[str, Any]] = {int(i): dict(values) for i, values in facts["values"].items()}
    for index, name in names.items():
        prefix = f"{OPTIMIZER}{name}."
        own = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
        if own:
            state.setdefault(index, {}).update(own)
    groups = packed["param_groups"]
    if rates:
        groups = [{**now, **saved} for now, saved in zip(groups, facts["groups"], strict=True)]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def _parameter_names(model: nn.Module, optimizer: Optimizer) -> dict[int, str]:
    """Names by the index that `Optimizer.state_dict` uses: its groups' parameters counted through."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    members = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    return {i: names.get(id(parameter), f"#{i}") for i, parameter in enumerate(members)}


def _is_plain(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_plain(item) and not isinstance(item, (list, tuple)) for item in value)
    return value is None or isinstance(value, (bool, int, float, str))
