"""Fits a small network to a curve on every worker of the job, and goes on where it was after an interruption.

Runs the same on its own: `python train.py`.
"""

import argparse
import os
import signal
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

leaving = torch.zeros(1)


def main() -> None:
    """Train, save every 50 steps and when asked to leave, resume from what is saved."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args().steps
    signal.signal(signal.SIGTERM, lambda *_: leaving.fill_(1))  # the platform asks us to save and leave
    if "RANK" not in os.environ:  # on our own
        os.environ |= {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
    dist.init_process_group("gloo")

    torch.manual_seed(0)
    model = DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(1, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    step = load(model, optimizer)
    while step < steps:
        generator = torch.Generator().manual_seed(step * dist.get_world_size() + dist.get_rank())
        x = 6 * torch.rand(256, 1, generator=generator) - 3
        loss = torch.nn.functional.mse_loss(model(x), torch.sin(x))
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        step += 1
        if step % 10 == 0 and dist.get_rank() == 0:
            print(f"step {step} loss {loss.item():.5f}", flush=True)
        asked = leaving.clone()
        dist.all_reduce(asked, dist.ReduceOp.MAX)  # every worker leaves after the same step
        if asked or step % 50 == 0 or step == steps:
            save(model, optimizer, step)
        if asked:
            break
    dist.destroy_process_group()


def state_file() -> Path:
    """Where the state is kept: in the job's own folder, which outlives each of its attempts."""
    return Path(os.environ.get("GANGLINE_CHECKPOINT_DIR", "checkpoints")) / "state.pt"


def save(model: torch.nn.Module, optimizer: torch.optim.Optimizer, step: int) -> None:
    """Write the state beside the old one and put it in its place: there is a whole one at any moment."""
    if dist.get_rank() == 0:
        state_file().parent.mkdir(parents=True, exist_ok=True)
        draft = state_file().with_suffix(".new")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, draft)
        draft.replace(state_file())
    dist.barrier()


def load(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Take the saved state if there is one; the number of steps completed."""
    if not state_file().exists():
        return 0
    state = torch.load(state_file(), weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["step"])


if __name__ == "__main__":
    main()
