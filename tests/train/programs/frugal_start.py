"""The recipe for one step; prints which heavy modules that took."""

import sys

from ray_runtime.train.recipes.__main__ import main
from ray_runtime.train.run import Run

_plain_step = Run.step


def _step(self: Run, batch: object) -> float:
    loss = _plain_step(self, batch)
    heavy = [
        name for name in ("torch._dynamo", "sympy", "torch.distributed.checkpoint") if name in sys.modules
    ]
    self.say(f"heavy {heavy} after step {self.steps_done}")
    return loss


Run.step = _step  # type: ignore[method-assign]  # the point of this program
main()
