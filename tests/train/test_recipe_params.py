"""The rules for a job's recipe, as the portal applies them: no torch anywhere."""

import math
import subprocess
import sys
from typing import Any

import pytest

from ray_runtime import recipe_params
from tests.train.gang import ROOT


@pytest.mark.parametrize(
    ("recipe", "params", "expected"),
    [
        ("gpt-pretrain", {}, []),
        ("gpt-pretrain", {"layers": 12, "hidden": 768, "heads": 12, "steps": 1000, "dropout": 0}, []),
        ("gpt", {}, [("recipe", "there is no recipe “gpt”; there are: gpt-pretrain")]),
        (None, {}, [("recipe", "there is no recipe “None”; there are: gpt-pretrain")]),
        ("gpt-pretrain", [1], [("params", "must be a mapping of parameter names to values")]),
        (
            "gpt-pretrain",
            {"layer": 3},
            [("params.layer", "is not a parameter of this recipe; did you mean layers?")],
        ),
        ("gpt-pretrain", {"layers": 2.5}, [("params.layers", "must be a whole number, not 2.5")]),
        ("gpt-pretrain", {"layers": True}, [("params.layers", "must be a whole number, not True")]),
        ("gpt-pretrain", {"layers": "4"}, [("params.layers", "must be a whole number, not '4'")]),
        ("gpt-pretrain", {"layers": 0}, [("params.layers", "must be between 1 and 200, not 0")]),
        ("gpt-pretrain", {"clip": None}, [("params.clip", "must be a number, not None")]),
        ("gpt-pretrain", {"dropout": math.nan}, [("params.dropout", "must be between 0 and 0.9, not nan")]),
        (
            "gpt-pretrain",
            {"precision": "fp8"},
            [("params.precision", "must be one of auto, bf16, fp32, not 'fp8'")],
        ),
        (
            "gpt-pretrain",
            {"hidden": 100, "heads": 3},
            [("params.hidden", "must be a multiple of heads (3), not 100")],
        ),
        (
            "gpt-pretrain",
            {"steps": 20, "warmup_steps": 20},
            [("params.warmup_steps", "must be smaller than steps (20), not 20")],
        ),
        (
            "gpt-pretrain",
            {"steps": 0, "seed": -1},
            [
                ("params.steps", "must be between 1 and 100000000, not 0"),
                ("params.seed", "must be between 0 and 2147483647, not -1"),
            ],
        ),
    ],
)
def test_everything_wrong_is_named_with_its_path(
    recipe: object, params: object, expected: list[tuple[str, str]]
) -> None:
    """All problems at once; none for what is right."""
    assert recipe_params.check(recipe, params) == expected


@pytest.mark.parametrize(("name", "params"), recipe_params.RECIPES.items())
def test_every_recipes_defaults_obey_its_own_rules(name: str, params: dict[str, recipe_params.Param]) -> None:
    """And filling in nothing gives just them."""
    defaults = {key: param.default for key, param in params.items()}
    assert recipe_params.check(name, defaults) == []
    assert recipe_params.fill(name, {}) == defaults
    assert all(param.help for param in params.values())


def test_filling_keeps_what_was_given_and_makes_numbers_of_the_right_kind() -> None:
    """A whole number is good enough for a rate."""
    filled = recipe_params.fill("gpt-pretrain", {"steps": 7, "dropout": 0})
    assert filled["steps"] == 7
    assert isinstance(filled["dropout"], float)


def test_every_fault_uses_a_listed_template() -> None:
    """Translators find all sentences in one place."""
    bad: dict[str, Any] = {"layers": "x", "clip": "x", "steps": 0, "precision": 1, "nonsense": 1}
    found = {fault.template for fault in recipe_params.faults("gpt-pretrain", bad)}
    assert len(found) == 5
    assert found <= set(recipe_params.TEMPLATES)


@pytest.mark.parametrize(
    "module",
    [
        "ray_runtime.recipe_params",
        "ray_runtime.checkpoint_index",
        "ray_runtime.reporter",
        "ray_runtime.train",
        "ray_runtime.train.environment",
        "ray_runtime.train.recipes",
        "ray_runtime.train.cadence",
    ],
)
def test_what_the_portal_and_the_agents_import_leaves_torch_out(module: str) -> None:
    """A second and 200 MB that they must not pay."""
    code = f"import sys, {module}; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=60).returncode == 0
