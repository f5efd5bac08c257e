"""The parameters of the recipes as fields of a form, with their help in the reader's language."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from jobs.views.submit_fields import PARAM_PREFIX
from ray_runtime.recipe_params import RECIPES, Param

# `ray_runtime` knows no translations: its sentences are looked up here, and shown as they are if missing.
HELP: Mapping[str, str | Promise] = {
    "Optimiser steps in all.": _("Optimiser steps in all."),
    "Transformer blocks.": _("Transformer blocks."),
    "Width of the residual stream.": _("Width of the residual stream."),
    "Attention heads; must divide hidden.": _("Attention heads; must divide hidden."),
    "Tokens (bytes of text) per sample.": _("Tokens (bytes of text) per sample."),
    "Samples per optimiser step over all workers, whatever their number.": _(
        "Samples per optimiser step over all workers, whatever their number."
    ),
    "Samples per forward pass of one worker; the rest is accumulated.": _(
        "Samples per forward pass of one worker; the rest is accumulated."
    ),
    "Peak of the cosine schedule.": _("Peak of the cosine schedule."),
    "End of the schedule as a part of the peak.": _("End of the schedule as a part of the peak."),
    "Steps of linear warm-up.": _("Steps of linear warm-up."),
    "AdamW's decay, on matrices only.": _("AdamW's decay, on matrices only."),
    "Largest norm of the gradient.": _("Largest norm of the gradient."),
    "Dropout of the residual branches.": _("Dropout of the residual branches."),
    "Arithmetic of the matrix products; auto takes BF16 where the device has it. Weights stay FP32.": _(
        "Arithmetic of the matrix products; auto takes BF16 where the device has it. Weights stay FP32."
    ),
    "Initial weights, order of the samples, dropout.": _("Initial weights, order of the samples, dropout."),
}
MAIN_PARAMS = ("steps", "layers", "hidden", "global_batch")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamField:
    """One parameter of a recipe as a field."""

    name: str
    field: str
    value: str
    default: str
    help: str
    choices: tuple[str, ...]
    is_main: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeFields:
    """A recipe with its fields."""

    name: str
    fields: tuple[ParamField, ...]


def recipe_fields(values: Mapping[str, str]) -> list[RecipeFields]:
    """Every recipe, filled with these values of the form."""
    return [
        RecipeFields(name=recipe, fields=tuple(_field(name, param, values) for name, param in params.items()))
        for recipe, params in sorted(RECIPES.items())
    ]


def _field(name: str, param: Param, values: Mapping[str, str]) -> ParamField:
    field = f"{PARAM_PREFIX}{name}"
    return ParamField(
        name=name,
        field=field,
        value=values.get(field, ""),
        default=str(param.default),
        help=str(HELP.get(param.help, param.help)),
        choices=param.choices,
        is_main=name in MAIN_PARAMS,
    )
