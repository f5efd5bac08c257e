"""Writes checkpoints while training goes on: staged at once, written, summed and committed by a thread.

Each rank writes its part of the state with torch.distributed.checkpoint (DCP) over a group of the saver's
own; rank 0 commits with the manifest when the parts of all ranks are on disk.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from ray_runtime import checkpoint_index
from ray_runtime.checkpoint_index import Manifest, ShardFile
from ray_runtime.train.collectives import Talk
from ray_runtime.train.shards import write_shards


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """One committed checkpoint and what it cost: in all, and of the training's time."""

    folder: Path
    step: int
    size_bytes: int
    seconds: float
    stall_seconds: float


class Saver:
    """One save at a time. `committed` is called on rank 0, from the saver's thread."""

    def __init__(self, directory: Path, talk: Talk, *, keep: int, committed: Callable[[Saved], None]) -> None:
        self._directory = directory
        self._talk = talk
        self._keep = keep
        self._committed = committed
        self._staging: dict[str, torch.Tensor] = {}
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def busy(self) -> bool:
        """Whether a save is still being written."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self, step: int, tensors: Mapping[str, torch.Tensor], *, alone: bool) -> float:
        """Stage the tensors and start writing them, on every rank; returns the seconds that this took.

        `alone`: nothing else happens until the save is done, so the tensors are written without staging.
        """
        self.wait()
        started = time.monotonic()
        folder = checkpoint_index.folder_of(self._directory, step)
        if self._talk.rank == 0:
            checkpoint_index.remove(
                folder
            )  # what a killed attempt left, or a damaged one that is replaced now
        own = _owned(tensors, rank=self._talk.rank, world_size=self._talk.world_size)
        staged = {name: tensor.detach() for name, tensor in own.items()} if alone else self._stage(own)
        stall = time.monotonic() - started
        self._thread = threading.Thread(
            target=self._run, args=(folder, step, staged, started, stall), name="saver", daemon=True
        )
        self._thread.start()
        return stall

    def wait(self) -> None:
        """Until the save under way, if any, is committed or has failed."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def failure(self) -> BaseException | None:
        """Why the last save failed; asking forgets it."""
        error, self._error = self._error, None
        return error

    def _stage(self, own: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        for name, tensor in own.items():
            kept = self._staging.get(name)
            if kept is None or kept.shape != tensor.shape:
                self._staging[name] = kept = torch.empty_like(tensor, device="cpu")
            kept.copy_(tensor.detach())
        return {name: self._staging[name] for name in own}

    def _run(
        self, folder: Path, step: int, staged: dict[str, torch.Tensor], started: float, stall: float
    ) -> None:
        try:
            size = self._write(folder, step, staged)
            if self._talk.rank == 0:
                checkpoint_index.apply_retention(self._directory, self._keep)
                seconds = time.monotonic() - started
                self._committed(
                    Saved(folder=folder, step=step, size_bytes=size, seconds=seconds, stall_seconds=stall)
                )
        except BaseException as error:  # noqa: BLE001  # handed to the main thread, which decides
            self._error = error

    def _write(self, folder: Path, step: int, staged: dict[str, torch.Tensor]) -> int:
        write_shards(folder, staged, self._talk)
        parts = self._talk.collect(_describe_own(folder, rank=self._talk.rank))
        files = [file for part in parts for file in _or_raise(part)]
        manifest = Manifest(step=step, world_size=self._talk.world_size, files=tuple(files))
        if self._talk.rank == 0:
            checkpoint_index.write_manifest(folder, manifest)
        return manifest.size_bytes


def _owned(tensors: Mapping[str, torch.Tensor], *, rank: int, world_size: int) -> dict[str, torch.Tensor]:
    """What this rank writes: all ranks hold the same tensors, so each takes some, by size, largest first."""
    loads = [0] * world_size
    own: dict[str, torch.Tensor] = {}
    for name in sorted(tensors, key=lambda n: (-tensors[n].nbytes, n)):
        lightest = loads.index(min(loads))
        loads[lightest] += tensors[name].nbytes
        if lightest == rank:
            own[name] = tensors[name]
    return own


def _describe_own(folder: Path, *, rank: int) -> list[ShardFile] | OSError:
    try:
        names = [path.name for path in folder.glob(f"__{rank}_*")]
        return checkpoint_index.describe(folder, [*names, ".metadata"] if rank == 0 else names)
    except OSError as error:  # told to all, or they would wait for this rank
        return error


def _or_raise(part: list[ShardFile] | OSError) -> list[ShardFile]:
    if isinstance(part, OSError):
        raise part
    return part
