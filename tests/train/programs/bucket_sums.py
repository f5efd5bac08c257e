"""Compares our summed gradients with those of torch's DistributedDataParallel, over several buckets."""

import os
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from ray_runtime.train import gradients


class Net(nn.Module):
    """A tied weight, a branch that is not always used, and one parameter in FP64."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8)
        self.second.weight = self.first.weight
        self.branch = nn.Linear(8, 8)
        self.scale = nn.Parameter(torch.ones(8, dtype=torch.float64))

    def forward(self, x: torch.Tensor, *, branches: bool) -> torch.Tensor:
        """A number."""
        x = self.second(torch.tanh(self.first(x)))
        return ((self.branch(x) if branches else x) * self.scale).square().mean()


def gradients_of(net: nn.Module) -> dict[str, Any]:
    """Copies, by name."""
    return {name: None if p.grad is None else p.grad.clone() for name, p in net.named_parameters()}


def main() -> None:
    """Two steps, the second without the branch; then gradient accumulation."""
    gradients._BUCKET_BYTES = 100  # a bucket for nearly every parameter
    dist.init_process_group("gloo")
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.manual_seed(0)
    ours, theirs = Net(), Net()
    theirs.load_state_dict(ours.state_dict())
    wrapped = DistributedDataParallel(theirs, find_unused_parameters=True)
    buckets = gradients.GradientBuckets(list(ours.parameters()), world_size=size)
    assert len(buckets._buckets) == 3, "several buckets"
    for branches in (True, False):
        x = torch.randn(4, 8) + rank
        buckets.zero()
        with buckets.summed():
            ours(x, branches=branches).backward()
        wrapped.zero_grad()
        wrapped(x, branches=branches).backward()
        for name, expected in gradients_of(theirs).items():
            found = ours.get_parameter(name).grad
            assert found is not None
            wanted = torch.zeros_like(found) if expected is None else expected * size
            torch.testing.assert_close(found, wanted, msg=name)
    accumulate(ours, buckets, rank)
    clip(ours, buckets)


def accumulate(net: Net, buckets: gradients.GradientBuckets, rank: int) -> None:
    """Two passes, summed over ranks in the second only, equal one pass over both."""
    x = torch.randn(2, 8) + rank
    buckets.zero()
    with buckets.summed():
        (net(x[:1], branches=True) + net(x[1:], branches=True)).backward()
    expected = gradients_of(net)
    net.zero_grad()  # as a program may: the buckets take their gradients back
    buckets.zero()
    net(x[:1], branches=True).backward()
    with buckets.summed():
        net(x[1:], branches=True).backward()
    for name, found in gradients_of(net).items():
        torch.testing.assert_close(found, expected[name])


def clip(net: Net, buckets: gradients.GradientBuckets) -> None:
    """The norm is that of all gradients together, before; afterwards it is the limit."""
    norm = buckets.clip(None)
    expected = torch.nn.utils.get_total_norm([p.grad for p in net.parameters() if p.grad is not None])
    assert abs(norm - float(expected)) < 1e-6 * norm
    buckets.clip(norm / 2)
    assert abs(buckets.clip(None) - norm / 2) < 1e-5 * norm


main()
