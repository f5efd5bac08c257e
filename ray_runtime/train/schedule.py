"""Learning rates as pure functions of the step: nothing to save, nothing to restore."""

import math
from collections.abc import Callable


def cosine(*, warmup: int, total: int, final: float) -> Callable[[int], float]:
    """Factor of the peak rate for step 0, 1, ...: linear warm-up, then half a cosine down to `final`."""
    warmup = min(warmup, total // 2)

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        progress = min(1.0, (step - warmup) / max(1, total - warmup))
        return final + (1 - final) * 0.5 * (1 + math.cos(math.pi * progress))

    return factor
