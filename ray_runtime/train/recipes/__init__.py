"""Built-in recipes: functions from validated parameters to a frozen config that knows how to run itself."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ray_runtime import recipe_params


class Recipe(Protocol):
    """A config; `run` trains and returns when the work is complete."""

    def run(self) -> None:
        """Train, or leave with `SystemExit` when told to stop."""


class BadParamsError(ValueError):
    """The parameters break the recipe's rules; one line for each."""


def build(name: str, params: Mapping[str, Any]) -> Recipe:
    """The config of the named recipe; raises `BadParamsError` with everything that is wrong."""
    problems = recipe_params.check(name, params)
    if problems:
        raise BadParamsError("\n".join(f"{path}: {problem}" for path, problem in problems))
    return _recipes()[name](**recipe_params.fill(name, params))


def _recipes() -> Mapping[str, Callable[..., Recipe]]:
    from ray_runtime.train.recipes.gpt_pretrain import gpt_pretrain

    return {"gpt-pretrain": gpt_pretrain}
