"""The process group of a run: joining it, small talk over it, and leaving at once when it breaks."""

import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast

import torch
import torch.distributed as dist

from ray_runtime.train.environment import PEER_LOST_EXIT, Environment

T = TypeVar("T")

# A dead peer's sockets close and break the collective within milliseconds. This is for peers that are cut off
# or hang, so it must outlast the slowest healthy thing between two collectives (reading a checkpoint, say).
COLLECTIVE_TIMEOUT = timedelta(minutes=5)
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Talk:
    """Small values among the ranks, over one group. No two threads may share one: order would be lost."""

    def __init__(self, *, rank: int, world_size: int, group: dist.ProcessGroup | None = None) -> None:
        self.rank = rank
        self.world_size = world_size
        self.group = group

    def sum(self, values: Sequence[float]) -> list[float]:
        """The values added up over all ranks, in FP64."""
        if self.world_size == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(total, group=self.group)
        return cast(list[float], total.tolist())

    def tell(self, value: T) -> T:
        """Rank 0's value, on every rank."""
        if self.world_size == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, group=self.group, device=torch.device("cpu"))
        return box[0]

    def collect(self, value: T) -> list[T]:
        """Every rank's value, in rank order, on every rank."""
        if self.world_size == 1:
            return [value]
        boxes: list[Any] = [None] * self.world_size
        dist.all_gather_object(boxes, value, group=self.group)
        return cast(list[T], boxes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """This rank's place and device, and two groups: `control` for the loop, `saving` for the saver."""

    rank: int
    world_size: int
    device: torch.device
    control: Talk
    saving: Talk


def join(environment: Environment) -> Ranks:
    """Enter the process group (gloo, and NCCL where there are GPUs) and take a fair number of threads."""
    rank, world_size = environment.rank, environment.world_size
    device = _own_device(environment.local_rank)
    if world_size == 1:
        alone = Talk(rank=0, world_size=1)
        return Ranks(rank=0, world_size=1, device=device, control=alone, saving=alone)
    if not dist.is_initialized():
        backend = "gloo" if device.type == "cpu" else "cpu:gloo,cuda:nccl"
        dist.init_process_group(backend, timeout=COLLECTIVE_TIMEOUT)
        leave_at_once_on_errors()
    control = Talk(rank=rank, world_size=world_size)
    saving = dist.new_group(backend="gloo", timeout=COLLECTIVE_TIMEOUT)
    _share_cores(control)
    return Ranks(
        rank=rank,
        world_size=world_size,
        device=device,
        control=control,
        saving=Talk(rank=rank, world_size=world_size, group=saving),
    )


def broadcast_module(module: torch.nn.Module, ranks: Ranks) -> None:
    """Give every rank rank 0's weights and buffers."""
    if ranks.world_size > 1:
        for tensor in (*module.parameters(), *module.buffers()):
            dist.broadcast(tensor.data, src=0)


def leave_at_once_on_errors() -> None:
    """From now on an error that nobody catches ends the process without finalisers.

    Those may wait for a peer that waits for us; gone at once, our sockets close and the peers leave likewise.
    """
    sys.excepthook = _leave


def leave(code: int) -> None:
    """End the process now, with everything printed."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _leave(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    traceback.print_exception(kind, error, trace)
    leave(PEER_LOST_EXIT if _is_broken_collective(error) else 1)


def _is_broken_collective(error: BaseException) -> bool:
    return isinstance(error, (dist.DistBackendError, dist.DistNetworkError)) or (
        isinstance(error, RuntimeError) and "gloo" in str(error)
    )


def _own_device(local_rank: int) -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", local_rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device


def _share_cores(control: Talk) -> None:
    """One machine's ranks split its cores, also when they count as several nodes (on a laptop)."""
    if "OMP_NUM_THREADS" in os.environ:
        return
    machine = _BOOT_ID.read_text() if _BOOT_ID.exists() else ""
    here = control.collect(machine).count(machine)
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // here))
