"""The parameters of the built-in recipes and the rules for them. Standard library only.

So the portal checks a job without torch; `ray_runtime.train.recipes` turns the same values into a run.
"""

import dataclasses
import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """One parameter, of `default`'s type; numbers lie in `low..high`, strings are one of `choices`."""

    default: int | float | str
    help: str
    low: float = 0
    high: float = math.inf
    choices: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """`int`, `float` or `str`, as forms and schemas name it."""
        return type(self.default).__name__


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a job's recipe: where, an English %-template, and the template's values."""

    path: str
    template: str
    values: Mapping[str, object] = dataclasses.field(default_factory=dict)

    @property
    def problem(self) -> str:
        """The English sentence."""
        return self.template % self.values


NOT_A_MAPPING = "must be a mapping of parameter names to values"
UNKNOWN_RECIPE = "there is no recipe “%(given)s”; there are: %(known)s"
UNKNOWN_PARAM = "is not a parameter of this recipe; did you mean %(guess)s?"
NOT_INT = "must be a whole number, not %(given)s"
NOT_FLOAT = "must be a number, not %(given)s"
NOT_CHOICE = "must be one of %(choices)s, not %(given)s"
OUT_OF_RANGE = "must be between %(low)s and %(high)s, not %(given)s"
NOT_DIVISIBLE = "must be a multiple of %(other)s (%(value)s), not %(given)s"
NOT_BELOW = "must be smaller than %(other)s (%(value)s), not %(given)s"
TEMPLATES = (
    NOT_A_MAPPING,
    UNKNOWN_RECIPE,
    UNKNOWN_PARAM,
    NOT_INT,
    NOT_FLOAT,
    NOT_CHOICE,
    OUT_OF_RANGE,
    NOT_DIVISIBLE,
    NOT_BELOW,
)

_GPT: Mapping[str, Param] = {
    "steps": Param(default=200, low=1, high=100_000_000, help="Optimiser steps in all."),
    "layers": Param(default=4, low=1, high=200, help="Transformer blocks."),
    "hidden": Param(default=128, low=8, high=32_768, help="Width of the residual stream."),
    "heads": Param(default=4, low=1, high=256, help="Attention heads; must divide hidden."),
    "context": Param(default=128, low=8, high=131_072, help="Tokens (bytes of text) per sample."),
    "global_batch": Param(
        default=64,
        low=1,
        high=1_000_000,
        help="Samples per optimiser step over all workers, whatever their number.",
    ),
    "micro_batch": Param(
        default=16,
        low=1,
        high=65_536,
        help="Samples per forward pass of one worker; the rest is accumulated.",
    ),
    "learning_rate": Param(default=3e-3, low=1e-9, high=1.0, help="Peak of the cosine schedule."),
    "final_rate": Param(default=0.1, low=0.0, high=1.0, help="End of the schedule as a part of the peak."),
    "warmup_steps": Param(default=10, low=0, high=1_000_000, help="Steps of linear warm-up."),
    "weight_decay": Param(default=0.1, low=0.0, high=10.0, help="AdamW's decay, on matrices only."),
    "clip": Param(default=1.0, low=1e-6, high=1e6, help="Largest norm of the gradient."),
    "dropout": Param(default=0.0, low=0.0, high=0.9, help="Dropout of the residual branches."),
    "precision": Param(
        default="auto",
        choices=("auto", "bf16", "fp32"),
        help="Arithmetic of the matrix products; auto takes BF16 where the device has it. Weights stay FP32.",
    ),
    "seed": Param(default=0, low=0, high=2**31 - 1, help="Initial weights, order of the samples, dropout."),
}

RECIPES: Mapping[str, Mapping[str, Param]] = {"gpt-pretrain": _GPT}


def check(recipe: object, params: object) -> list[tuple[str, str]]:
    """Everything that is wrong, as (path in the job document, English sentence); empty when all is well."""
    return [(fault.path, fault.problem) for fault in faults(recipe, params)]


def faults(recipe: object, params: object) -> list[Fault]:
    """As `check`, with template and values apart, for those who translate."""
    if not isinstance(recipe, str) or recipe not in RECIPES:
        return [Fault("recipe", UNKNOWN_RECIPE, {"given": recipe, "known": ", ".join(sorted(RECIPES))})]
    if not isinstance(params, Mapping):
        return [Fault("params", NOT_A_MAPPING)]
    found = [fault for name, value in params.items() for fault in _value_faults(recipe, name, value)]
    return found or list(_cross_faults(fill(recipe, params)))


def fill(recipe: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """All of the recipe's parameters, those not given at their defaults, after `check` found no fault."""
    return {
        name: type(param.default)(params.get(name, param.default)) for name, param in RECIPES[recipe].items()
    }


def _value_faults(recipe: str, name: object, value: object) -> Iterator[Fault]:
    known = RECIPES[recipe]
    if not isinstance(name, str) or name not in known:
        guess = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5) or sorted(known)
        yield Fault(f"params.{name}", UNKNOWN_PARAM, {"guess": ", ".join(guess)})
        return
    fault = _typed_fault(known[name], value)
    if fault is not None:
        yield Fault(f"params.{name}", fault[0], {"given": _shown(value), **fault[1]})


def _typed_fault(param: Param, value: object) -> tuple[str, dict[str, object]] | None:
    if param.kind == "str":
        fits = isinstance(value, str) and value in param.choices
        return None if fits else (NOT_CHOICE, {"choices": ", ".join(param.choices)})
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return (NOT_INT if param.kind == "int" else NOT_FLOAT), {}
    if param.kind == "int" and not isinstance(value, int):
        return NOT_INT, {}
    if not param.low <= value <= param.high:  # also refuses NaN
        return OUT_OF_RANGE, {"low": _shown(param.low), "high": _shown(param.high)}
    return None


def _cross_faults(values: Mapping[str, Any]) -> Iterator[Fault]:
    if values["hidden"] % values["heads"]:
        other: dict[str, object] = {"other": "heads", "value": values["heads"], "given": values["hidden"]}
        yield Fault("params.hidden", NOT_DIVISIBLE, other)
    if values["warmup_steps"] >= values["steps"] and values["warmup_steps"] != _GPT["warmup_steps"].default:
        other = {"other": "steps", "value": values["steps"], "given": values["warmup_steps"]}
        yield Fault("params.warmup_steps", NOT_BELOW, other)


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value!r}"
