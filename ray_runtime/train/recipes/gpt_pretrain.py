"""Recipe `gpt-pretrain`: a GPT learns the bytes of Python's standard library."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ray_runtime.train.corpus import VOCABULARY, ByteWindows, load_corpus
from ray_runtime.train.environment import read_environment
from ray_runtime.train.model import Gpt, GptShape, next_token_loss
from ray_runtime.train.order import mixed_seed
from ray_runtime.train.run import Run
from ray_runtime.train.schedule import cosine
from ray_runtime.train.starting import start

_BETAS = (0.9, 0.95)
_VALIDATION_SAMPLES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class GptPretrain:
    """Everything that decides the course of the training."""

    shape: GptShape
    steps: int
    global_batch: int
    micro_batch: int
    learning_rate: float
    final_rate: float
    warmup_steps: int
    weight_decay: float
    clip: float
    precision: str
    seed: int

    def run(self) -> None:
        """Train, then write `result.json` among the job's outputs."""
        torch.manual_seed(mixed_seed(self.seed))
        model = Gpt(self.shape)
        run = start(
            model=model,
            optimizer=self._optimizer(model),
            data=ByteWindows(load_corpus("train"), context=self.shape.context),
            loss=next_token_loss,
            steps=self.steps,
            batch_size=self.global_batch,
            micro_batch=self.micro_batch,
            schedule=cosine(warmup=self.warmup_steps, total=self.steps, final=self.final_rate),
            clip=self.clip,
            precision=self.precision,
            seed=self.seed,
            metrics_seconds=0.0,
        )
        loss = float("nan")
        for batch in run:
            loss = run.step(batch)
        self._write_result(run, model, loss)

    def _optimizer(self, model: torch.nn.Module) -> torch.optim.Optimizer:
        """AdamW; norms' gains are not decayed."""
        matrices = [weight for weight in model.parameters() if weight.dim() > 1]
        gains = [weight for weight in model.parameters() if weight.dim() <= 1]
        groups: list[dict[str, Any]] = [
            {"params": matrices, "weight_decay": self.weight_decay},
            {"params": gains, "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=self.learning_rate, betas=_BETAS, fused=True)

    def _write_result(self, run: Run, model: Gpt, loss: float) -> None:
        folder = read_environment(os.environ).output_dir
        if run.rank != 0 or folder is None:
            return
        result = {"steps": run.steps_done, "loss": loss, "validation_loss": self._validate(model, run.device)}
        folder.mkdir(parents=True, exist_ok=True)
        Path(folder / "result.json").write_text(json.dumps(result, indent=1) + "\n")
        run.say(f"validation loss {result['validation_loss']:.4f}")

    def _validate(self, model: Gpt, device: torch.device) -> float:
        """Mean loss over samples of files that were never trained on."""
        windows = ByteWindows(load_corpus("validation"), context=self.shape.context)
        inputs, targets = windows.fetch(list(range(min(_VALIDATION_SAMPLES, len(windows)))))
        model.eval()
        with torch.no_grad():
            return float(next_token_loss(model(inputs.to(device)), targets.to(device)))


def gpt_pretrain(**params: Any) -> GptPretrain:
    """The config for parameters that `ray_runtime.recipe_params` has checked and filled."""
    sizes = {name: params.pop(name) for name in ("context", "layers", "hidden", "heads", "dropout")}
    return GptPretrain(shape=GptShape(vocabulary=VOCABULARY, **sizes), **params)
