"""Training under Gangline: `train.start(...)` wraps a model for a job's workers and finds the exact step.

Importing this package does not import torch; using it does.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ray_runtime.train.run import Run
    from ray_runtime.train.starting import start

__all__ = ["Run", "start"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ray_runtime.train import starting

    return getattr(starting, name)
