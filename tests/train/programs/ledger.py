"""A user's program: a small network over numbered samples; each rank writes down which samples it used.

PROGRAM is JSON: samples, batch, micro, steps or epochs, double, dropout, scheduler, loader, and
stop ({step, rank, signal}).
"""

import json
import os
import signal
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from ray_runtime import train


class Numbered(Dataset[Any]):
    """Samples whose target carries their id in the last column."""

    def __init__(self, count: int, dtype: torch.dtype) -> None:
        numbers = torch.arange(count, dtype=dtype)
        self.inputs = torch.stack([torch.sin(numbers * k) for k in (1, 2, 3, 5)], dim=1)
        self.targets = torch.stack([self.inputs.sum(1), numbers], dim=1)

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.inputs[index], self.targets[index]


def loss_of(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Mean squared error against the first column."""
    return nn.functional.mse_loss(outputs[:, 0], targets[:, 0])


def main() -> None:
    """Train and write `ledger-<attempt>-<rank>.jsonl`: one line of (step, ids, loss) for each step."""
    options = json.loads(os.environ["PROGRAM"])
    dtype = torch.float64 if options.get("double") else torch.float32
    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Linear(4, 16), nn.Tanh(), nn.Dropout(options.get("dropout", 0.0)), nn.Linear(16, 1)
    )
    optimizer = torch.optim.AdamW(model.to(dtype).parameters(), lr=0.02)
    data: Any = Numbered(options["samples"], dtype)
    if options.get("loader"):
        data = DataLoader(data, batch_size=options["batch"], shuffle=True, num_workers=options["loader"] - 1)
    scheduler = (
        torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.9)
        if options.get("scheduler")
        else None
    )
    run = train.start(
        model=model,
        optimizer=optimizer,
        data=data,
        loss=loss_of,
        steps=options.get("steps"),
        epochs=options.get("epochs", 1),
        batch_size=None if options.get("loader") else options["batch"],
        micro_batch=options.get("micro"),
        schedule=scheduler,
        clip=1.0,
        metrics_seconds=0.0,
    )
    stop = options.get("stop", {})
    with Path(os.environ["LEDGER"] + f"-{run.rank}.jsonl").open("a", buffering=1) as ledger:
        for batch in run:
            if (run.steps_done + 1, run.rank) == (stop.get("step"), stop.get("rank")):
                os.kill(os.getpid(), signal.Signals[stop["signal"]])
            loss = run.step(batch)
            run.log(loss=loss, half=loss / 2)
            ids = [int(number) for number in batch[1][:, 1].tolist()]
            ledger.write(json.dumps([run.steps_done, ids, loss]) + "\n")
    run.say("after the loop")


main()
