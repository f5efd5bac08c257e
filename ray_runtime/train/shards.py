"""Tensors to shard files and back, through torch.distributed.checkpoint (DCP).

DCP is imported when first needed: half a second and 50 MB that the first step of a fresh run does without.
"""

import warnings
from pathlib import Path
from typing import Any

import torch

from ray_runtime.train.collectives import Talk


def write_shards(folder: Path, tensors: dict[str, torch.Tensor], talk: Talk) -> None:
    """Write this rank's tensors as its shard, flushed to disk; every rank of `talk` must call it."""
    from torch.distributed.checkpoint.filesystem import FileSystemWriter
    from torch.distributed.checkpoint.state_dict_saver import save

    writer = FileSystemWriter(folder, single_file_per_rank=True, thread_count=1)
    _expect_single_process()
    save(tensors, storage_writer=writer, process_group=talk.group, no_dist=talk.world_size == 1)


def read_shards(folder: Path, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Fill the tensors given, in place, and return them together with all others that the folder holds."""
    from torch.distributed.checkpoint.filesystem import FileSystemReader
    from torch.distributed.checkpoint.state_dict_loader import load

    reader = FileSystemReader(folder)
    saved = reader.read_metadata().state_dict_metadata
    wanted = {name: tensors[name] if name in tensors else _room_for(entry) for name, entry in saved.items()}
    _expect_single_process()
    load(wanted, storage_reader=reader, no_dist=True)
    return wanted


def saved_shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Shape by name of all tensors in the folder."""
    from torch.distributed.checkpoint.filesystem import FileSystemReader

    entries: dict[str, Any] = FileSystemReader(folder).read_metadata().state_dict_metadata
    return {name: tuple(entry.size) for name, entry in entries.items()}


def _room_for(entry: Any) -> torch.Tensor:
    return torch.empty(entry.size, dtype=entry.properties.dtype)


def _expect_single_process() -> None:
    """DCP warns at each call without a group that there is none."""
    warnings.filterwarnings("ignore", message="torch.distributed is disabled, unavailable or uninitialized")
