"""Which samples belong to which step: a pure function of seed and step, whatever the number of ranks."""

import math
from dataclasses import dataclass, field

import torch


@dataclass(slots=True, kw_only=True)
class SampleOrder:
    """Every sample exactly once in each epoch, in the epoch's own order; the last step takes what is left."""

    num_samples: int
    global_batch: int
    seed: int
    shuffle: bool = True
    _epoch: int = field(default=-1, init=False)
    _permutation: torch.Tensor = field(default_factory=lambda: torch.empty(0), init=False)

    @property
    def steps_per_epoch(self) -> int:
        """Steps until every sample was used once."""
        return math.ceil(self.num_samples / self.global_batch)

    @property
    def fingerprint(self) -> dict[str, int | bool]:
        """What must be the same for a step's number to mean the same samples."""
        return {
            "num_samples": self.num_samples,
            "global_batch": self.global_batch,
            "seed": self.seed,
            "shuffle": self.shuffle,
        }

    def count(self, step: int) -> int:
        """How many samples global step `step` has: the batch size, or what is left of the epoch."""
        index = step % self.steps_per_epoch
        return min(self.global_batch, self.num_samples - index * self.global_batch)

    def ids(self, step: int) -> list[int]:
        """The samples of global step `step` (from 0), over all ranks."""
        epoch, index = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            self._permutation = self._order(epoch)
            self._epoch = epoch
        start = index * self.global_batch
        return [int(i) for i in self._permutation[start : start + self.global_batch].tolist()]

    def _order(self, epoch: int) -> torch.Tensor:
        if not self.shuffle:
            return torch.arange(self.num_samples)
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, epoch))
        return torch.randperm(self.num_samples, generator=generator)


def share(ids: list[int], *, rank: int, world_size: int) -> list[int]:
    """One rank's part of a step's samples: contiguous, of equal size or one less; may be empty."""
    count = len(ids)
    return ids[count * rank // world_size : count * (rank + 1) // world_size]


def mixed_seed(*parts: int) -> int:
    """One 63-bit seed from several numbers, so that neighbours share nothing (splitmix64, Steele 2014)."""
    state = 0
    for part in parts:
        state = (state + part + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 31
    return state >> 1
