"""Data parallelism: gradients live in flat buckets that are summed over the ranks while backward still runs.

torch's DistributedDataParallel does the same, but lays its buckets out anew after the first backward pass:
the sums then round differently before and after a restart. Here the layout is a function of the model
alone.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import torch
import torch.distributed as dist
from torch import nn

_BUCKET_BYTES = (
    25 << 20
)  # as DistributedDataParallel: few enough to be cheap, enough to overlap with backward


class GradientBuckets:
    """Owns the gradients of the parameters given; a parameter that took no part has a gradient of zero."""

    def __init__(self, parameters: Sequence[nn.Parameter], *, world_size: int) -> None:
        self._buckets = [_Bucket(members) for members in _grouped(parameters)]
        self._reduces = world_size > 1
        self._armed = False
        self._next = 0
        if self._reduces:
            for bucket in self._buckets:
                for parameter in bucket.parameters:
                    arrived = partial(self._arrived, bucket)
                    parameter.register_post_accumulate_grad_hook(arrived)  # type: ignore[no-untyped-call]  # so in torch

    def zero(self) -> None:
        """Set all gradients to zero, in place."""
        for bucket in self._buckets:
            bucket.reset()

    @contextmanager
    def summed(self) -> Iterator[None]:
        """The backward pass inside is the step's last: after it every gradient is the sum over all ranks."""
        self._armed, self._next = self._reduces, 0
        yield
        self._armed = False
        if self._reduces:
            self._send(len(self._buckets))  # those with parameters that this pass did not use
            for bucket in self._buckets:
                bucket.wait()

    def clip(self, limit: float | None) -> float:
        """Scale the gradients so that their common norm is at most `limit`; returns the norm before."""
        squares = [
            float(torch.linalg.vector_norm(bucket.flat, dtype=torch.float64)) ** 2 for bucket in self._buckets
        ]
        norm = math.sqrt(sum(squares))
        if limit is not None and norm > limit:
            for bucket in self._buckets:
                bucket.flat.mul_(limit / (norm + 1e-6))
        return norm

    def _arrived(self, bucket: "_Bucket", _parameter: torch.Tensor) -> None:
        if not self._armed:
            return
        bucket.missing -= 1
        ready = self._next
        while ready < len(self._buckets) and self._buckets[ready].missing == 0:
            ready += 1
        self._send(ready)

    def _send(self, end: int) -> None:
        """Start summing buckets in their order: all ranks must, or they would add up different ones."""
        for bucket in self._buckets[self._next : end]:
            bucket.send()
        self._next = max(self._next, end)


class _Bucket:
    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self.parameters = parameters
        self.missing = len(parameters)
        like = parameters[0]
        self.flat = torch.zeros(sum(p.numel() for p in parameters), dtype=like.dtype, device=like.device)
        sizes = [p.numel() for p in parameters]
        parts = torch.split(self.flat, sizes)
        self._views = [part.view_as(p) for part, p in zip(parts, parameters, strict=True)]
        self._work: dist.Work | None = None

    def reset(self) -> None:
        self.flat.zero_()
        self.missing = len(self.parameters)
        for parameter, view in zip(self.parameters, self._views, strict=True):
            parameter.grad = view  # again at each step: the program may have called zero_grad()

    def send(self) -> None:
        self._work = dist.all_reduce(self.flat, async_op=True)

    def wait(self) -> None:
        if self._work is not None:
            self._work.wait()
            self._work = None


def _grouped(parameters: Sequence[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """Parameters in reverse, roughly backward's order; split by type, device and size."""
    members: list[nn.Parameter] = []
    size = 0
    for parameter in reversed(parameters):
        fits = not members or (
            size < _BUCKET_BYTES
            and (parameter.dtype, parameter.device) == (members[0].dtype, members[0].device)
        )
        if not fits:
            yield members
            members, size = [], 0
        members.append(parameter)
        size += parameter.numel() * parameter.element_size()
    if members:
        yield members
