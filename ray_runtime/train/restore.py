"""Finds the newest whole checkpoint, together with all ranks, and puts the run back to it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from ray_runtime import checkpoint_index
from ray_runtime.train import state
from ray_runtime.train.collectives import Talk
from ray_runtime.train.shards import read_shards, saved_shapes


class UnusableCheckpointError(RuntimeError):
    """The checkpoint that the run was told to start from cannot be used."""


def choose(
    directory: Path | None, start_from: Path | None, talk: Talk, *, damaged: Callable[[Path, str], None]
) -> Path | None:
    """The newest whole checkpoint of this run, else the one to start from, else None; the same on every rank.

    Damaged ones are marked, told to `damaged` (on rank 0), and passed over. One that is asked for must be
    whole.
    """
    for folder in talk.tell(checkpoint_index.committed(directory) if directory is not None else []):
        problems = _verify_together(folder, talk)
        if not problems:
            return folder
        if talk.rank == 0:
            checkpoint_index.mark_damaged(folder, "; ".join(problems))
            damaged(folder, "; ".join(problems))
    if start_from is None or start_from.parent == directory:
        return None
    problems = _verify_together(start_from, talk)
    if problems:
        raise UnusableCheckpointError(
            f"the checkpoint to start from, {start_from}, is not whole: {'; '.join(problems)}"
        )
    return start_from


def load(folder: Path, model: nn.Module, optimizer: Optimizer, *, rates: bool) -> dict[str, Any]:
    """Restore weights and optimiser from the folder and return the facts that were saved with them.

    `rates`: also learning rates and the like (this run goes on), or not (another run starts from its
    weights). Every rank reads the whole state by itself, so it does not matter how many ranks wrote it.
    """
    with checkpoint_index.reading(folder):
        own = {state.MODEL + name: value for name, value in model.state_dict().items()}
        _require_same_model(saved_shapes(folder), own)
        tensors = read_shards(folder, own)
    facts = state.facts_in(tensors[state.PROGRESS])
    state.restore_optimizer(model, optimizer, tensors=tensors, facts=facts, rates=rates)
    return facts


def _verify_together(folder: Path, talk: Talk) -> list[str]:
    """Each rank reads its share of the files, so that a large checkpoint is checked at the speed of all."""
    try:
        files = checkpoint_index.read_manifest(folder).files
    except (OSError, ValueError) as error:
        files, problems = (), [f"{checkpoint_index.MANIFEST}: {error}"]
    else:
        problems = checkpoint_index.check_files(folder, files[talk.rank :: talk.world_size])
    return sorted({problem for found in talk.collect(problems) for problem in found})


def _require_same_model(saved: dict[str, tuple[int, ...]], own: dict[str, torch.Tensor]) -> None:
    shapes = {name: shape for name, shape in saved.items() if name.startswith(state.MODEL)}
    now = {name: tuple(tensor.shape) for name, tensor in own.items()}
    odd = sorted(name for name in shapes.keys() | now.keys() if shapes.get(name) != now.get(name))
    if odd:
        raise UnusableCheckpointError(f"the checkpoint is of another model; the first difference: {odd[0]}")
