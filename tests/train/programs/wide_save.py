"""A state of 150 MB: what a save costs the training when it is asynchronous, and when it is not.

Prints `stall <seconds> whole <seconds>`; the first save, which also allocates, is not counted.
"""

import os
import time
from pathlib import Path

import torch
from torch import nn

from ray_runtime.train import state
from ray_runtime.train.collectives import join
from ray_runtime.train.environment import read_environment
from ray_runtime.train.saver import Saver


def main() -> None:
    """Best of three each."""
    ranks = join(read_environment(os.environ))
    model = nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(12)))
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    tensors = state.live_tensors(model, optimizer)
    saver = Saver(
        Path(os.environ["GANGLINE_CHECKPOINT_DIR"]), ranks.saving, keep=1, committed=lambda _saved: None
    )
    stalls, wholes = [], []
    for step in range(4):
        stalls.append(saver.begin(2 * step, tensors, alone=False))
        saver.wait()
        started = time.monotonic()
        saver.begin(2 * step + 1, tensors, alone=True)
        saver.wait()
        wholes.append(time.monotonic() - started)
        error = saver.failure()
        assert error is None, error
    if ranks.rank == 0:
        print(f"stall {min(stalls[1:]):.4f} whole {min(wholes[1:]):.4f}")  # noqa: T201  # read by the test


main()
