"""A small GPT: pre-norm blocks, causal attention, tied embedding. Nothing here knows of training."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812  # the name that everybody knows it by


@dataclass(frozen=True, slots=True, kw_only=True)
class GptShape:
    """The sizes that make a GPT; `hidden` is a multiple of `heads`."""

    vocabulary: int
    context: int
    layers: int
    hidden: int
    heads: int
    dropout: float = 0.0

    @property
    def flops_per_token(self) -> float:
        """Operations of forward and backward for one token, by hand (as PaLM, Chowdhery 2022, appendix B).

        6 per weight of a matrix product and 12 * layers * hidden * context for the attention, causal or not.
        """
        weights = 12 * self.layers * self.hidden**2 + self.vocabulary * self.hidden
        return 6 * weights + 12 * self.layers * self.hidden * self.context


class Gpt(nn.Module):
    """Tokens (batch, time) to logits (batch, time, vocabulary)."""

    def __init__(self, shape: GptShape) -> None:
        super().__init__()
        self.tokens = nn.Embedding(shape.vocabulary, shape.hidden)
        self.positions = nn.Embedding(shape.context, shape.hidden)
        self.blocks = nn.ModuleList(_Block(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.hidden)
        self._initialise(shape.layers)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits of the next token at every position."""
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.tokens.weight)

    def _initialise(self, layers: int) -> None:
        """GPT-2's rule: 0.02, and smaller by the square root of the depth where a branch joins the stream."""
        for name, weight in self.named_parameters():
            if weight.dim() > 1:
                joins = name.endswith(("merge.weight", "down.weight"))
                nn.init.normal_(weight, std=0.02 / (2 * layers) ** 0.5 if joins else 0.02)


class _Block(nn.Module):
    def __init__(self, shape: GptShape) -> None:
        super().__init__()
        self._heads = shape.heads
        self._dropout = shape.dropout
        self.attention_norm = nn.RMSNorm(shape.hidden)
        self.split = nn.Linear(shape.hidden, 3 * shape.hidden, bias=False)
        self.merge = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.mlp_norm = nn.RMSNorm(shape.hidden)
        self.up = nn.Linear(shape.hidden, 4 * shape.hidden, bias=False)
        self.down = nn.Linear(4 * shape.hidden, shape.hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self._dropped(self.merge(self._attend(self.attention_norm(x))))
        return x + self._dropped(self.down(F.gelu(self.up(self.mlp_norm(x)))))

    def _attend(self, x: torch.Tensor) -> torch.Tensor:
        batch, time, hidden = x.shape
        parts = self.split(x).view(batch, time, 3, self._heads, hidden // self._heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return mixed.transpose(1, 2).reshape(batch, time, hidden)

    def _dropped(self, x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x, self._dropout, self.training) if self._dropout else x


def next_token_loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy in FP32 over all positions of the batch."""
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())
