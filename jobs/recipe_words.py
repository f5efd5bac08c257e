"""What is wrong with a recipe's parameters, in the reader's language. `ray_runtime` knows no translations."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from jobs.spec_reading import Reading, shown
from ray_runtime import recipe_params

WORDS: Mapping[str, str | Promise] = {
    recipe_params.NOT_A_MAPPING: _("must be a mapping of parameter names to values"),
    recipe_params.UNKNOWN_RECIPE: _("there is no recipe “%(given)s”; there are: %(known)s"),
    recipe_params.UNKNOWN_PARAM: _("is not a parameter of this recipe; did you mean %(guess)s?"),
    recipe_params.NOT_INT: _("must be a whole number, not %(given)s"),
    recipe_params.NOT_FLOAT: _("must be a number, not %(given)s"),
    recipe_params.NOT_CHOICE: _("must be one of %(choices)s, not %(given)s"),
    recipe_params.OUT_OF_RANGE: _("must be between %(low)s and %(high)s, not %(given)s"),
    recipe_params.NOT_DIVISIBLE: _("must be a multiple of %(other)s (%(value)s), not %(given)s"),
    recipe_params.NOT_BELOW: _("must be smaller than %(other)s (%(value)s), not %(given)s"),
}


def check_recipe(reading: Reading, recipe: str, params: Mapping[str, object]) -> None:
    """Refuse each parameter that the recipe does not take as it is given."""
    for fault in recipe_params.faults(recipe, params):
        values = {name: _short(value) for name, value in fault.values.items()}
        reading.refuse(shown(fault.path), WORDS[fault.template] % values)


def _short(value: object) -> object:
    return shown(value) if isinstance(value, str) else value
