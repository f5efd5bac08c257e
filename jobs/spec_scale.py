"""Reads how large a job is and how many there are: workers, parallelism, array, dependencies. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from jobs import spec_model as bounds
from jobs.recipe_words import check_recipe
from jobs.spec_model import ArrayValue, JobSpec, Parallelism, Topology, Workers
from jobs.spec_reading import Reading, join, shown
from jobs.spec_sections import VARIABLE_NAME, is_set_by_platform
from scheduling.model import LINK_LEVEL

# What joins the devices of a link domain, as people call it; the engine knows one level for all of them.
LINK_NAMES = (LINK_LEVEL, "nvlink", "hccs")
_DEGREES = ("tensor", "pipeline", "expert", "context")


def read_workers(reading: Reading, value: object) -> Workers:
    """A whole number, or `{min, max, want}` for an elastic gang; `want` is `max` when left out."""
    if not isinstance(value, dict):
        return Workers(want=reading.integer(value, "workers", low=1, high=bounds.MAX_WORKERS, default=1))
    part = reading.mapping(value, "workers", known=("min", "max", "want"))
    for key in ("min", "max"):
        if part.get(key) is None:
            reading.refuse(f"workers.{key}", _("is required"))
    least = reading.integer(part.get("min"), "workers.min", low=1, high=bounds.MAX_WORKERS, default=1)
    most = reading.integer(
        part.get("max"), "workers.max", low=least, high=bounds.MAX_WORKERS, default=bounds.MAX_WORKERS
    )
    want = reading.integer(part.get("want"), "workers.want", low=least, high=most, default=most)
    return Workers(want=want, least=least, most=most)


def read_parallelism(
    reading: Reading, value: object, *, workers: Workers, recipe: str | None
) -> Parallelism | None:
    """How the program divides its model over the workers; the gang's size has to be a multiple of that."""
    if value is None:
        return None
    part = reading.mapping(value, "parallelism", known=(*_DEGREES, "data", "zero"))
    degrees = {
        name: reading.integer(part.get(name), f"parallelism.{name}", low=1, high=1024, default=1)
        for name in _DEGREES
    }
    found = Parallelism(
        **degrees,
        data=_data(reading, part.get("data")),
        zero=reading.integer(part.get("zero"), "parallelism.zero", low=0, high=3, default=0),
    )
    if recipe is not None:
        _only_data(reading, found, recipe)
    _check_sizes(reading, found, workers)
    return found


def _data(reading: Reading, value: object) -> int | None:
    if value is None or value == "auto":
        return None
    if isinstance(value, str):
        reading.refuse(
            "parallelism.data", _("must be auto or a whole number, not %(given)s") % {"given": shown(value)}
        )
        return None
    return reading.integer(value, "parallelism.data", low=1, high=bounds.MAX_WORKERS, default=1)


def _only_data(reading: Reading, found: Parallelism, recipe: str) -> None:
    """The built-in recipes divide their data alone; a promise that they do not keep is not taken."""
    names = [name for name in _DEGREES if getattr(found, name) > 1] + (["zero"] if found.zero else [])
    for name in names:
        problem = _("is not what recipe %(recipe)s does: it is data-parallel only") % {"recipe": recipe}
        reading.refuse(f"parallelism.{name}", problem)


def _check_sizes(reading: Reading, found: Parallelism, workers: Workers) -> None:
    sizes = {"workers": workers.want} if workers.least is None else {
        "workers.min": workers.least, "workers.max": workers.most, "workers.want": workers.want,
    }  # fmt: skip
    for path, size in sizes.items():
        if size is not None and size % found.step_workers:
            texts = {"step": found.step_workers, "given": size}
            reading.refuse(
                path, _("must be a multiple of %(step)s, what the parallelism needs, not %(given)s") % texts
            )
    if found.data is not None and found.data * found.model_workers != workers.want:
        texts = {"product": found.data * found.model_workers, "workers": workers.want}
        problem = (
            _("makes %(product)s workers with the other degrees, not %(workers)s; leave it auto") % texts
        )
        reading.refuse("parallelism.data", problem)


def read_tensor_topology(reading: Reading, value: object, parallelism: Parallelism | None) -> Topology | None:
    """Whether a tensor group has to stay inside one link domain; the only rule that there is for groups."""
    if value is None:
        return None
    path = "topology.tensor"
    rule = reading.mapping(value, path, known=("within", "preferred"))
    within = reading.text(rule.get("within"), f"{path}.within", max_length=60)
    if rule.get("within") is None:
        reading.refuse(f"{path}.within", _("is required"))
    elif within is not None and within not in LINK_NAMES:
        allowed = {"allowed": ", ".join(LINK_NAMES), "given": shown(within)}
        reading.refuse(f"{path}.within", _("must be one of %(allowed)s, not “%(given)s”") % allowed)
    if parallelism is None or parallelism.tensor == 1:
        reading.refuse(path, _("needs parallelism.tensor: how many workers a tensor group has"))
    return Topology(
        within=within or LINK_LEVEL,
        preferred=reading.boolean(rule.get("preferred"), f"{path}.preferred"),
    )


def read_depends_on(reading: Reading, value: object) -> tuple[str, ...]:
    """Ids of jobs that have to end first."""
    if value is None:
        return ()
    if not isinstance(value, list) or not 1 <= len(value) <= bounds.MAX_DEPENDENCIES:
        reading.refuse(
            "depends_on", _("must be a list of 1 to %(max)s job ids") % {"max": bounds.MAX_DEPENDENCIES}
        )
        return ()
    ids = [_job_id(reading, item, f"depends_on[{index}]") for index, item in enumerate(value)]
    return tuple(dict.fromkeys(key for key in ids if key is not None))


def _job_id(reading: Reading, value: object, path: str) -> str | None:
    try:
        return str(UUID(value if isinstance(value, str) else ""))
    except ValueError:
        reading.refuse(path, _("is not the id of a job: %(given)s") % {"given": shown(value)})
        return None


def read_array(
    reading: Reading, value: object, *, recipe: str | None, params: Mapping[str, object]
) -> Mapping[str, tuple[ArrayValue, ...]]:
    """The lists of values whose combinations are the jobs: parameters of the recipe, or else variables."""
    if value is None:
        return {}
    if not isinstance(value, dict) or not 1 <= len(value) <= bounds.MAX_ARRAY_KEYS:
        problem = _("must be a mapping of 1 to %(max)s names to lists of values")
        reading.refuse("array", problem % {"max": bounds.MAX_ARRAY_KEYS})
        return {}
    lists = {name: _values(reading, name, items, recipe=recipe) for name, items in value.items()}
    size = 1
    for items in lists.values():
        size *= max(1, len(items))
    if size > bounds.MAX_ARRAY_SIZE:
        texts = {"size": size, "max": bounds.MAX_ARRAY_SIZE}
        reading.refuse("array", _("makes %(size)s jobs; at most %(max)s are allowed") % texts)
    elif recipe is not None:
        for values in combinations(lists):
            check_recipe(reading, recipe, {**params, **values})
    return lists


def _values(reading: Reading, name: str, items: object, *, recipe: str | None) -> tuple[ArrayValue, ...]:
    path = join("array", name)
    if recipe is None and not VARIABLE_NAME.fullmatch(name):
        reading.refuse(path, _("is not a name of letters, digits and _ that starts with a letter or _"))
    elif recipe is None and is_set_by_platform(name):
        reading.refuse(path, _("is set by the platform and cannot be given"))
    if not isinstance(items, list) or not items:
        reading.refuse(path, _("must be a list of values"))
        return ()
    for index, item in enumerate(items):
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            reading.refuse(
                f"{path}[{index}]", _("must be text or a number, not %(given)s") % {"given": shown(item)}
            )
        elif item in items[:index]:
            reading.refuse(f"{path}[{index}]", _("is listed twice: %(given)s") % {"given": shown(item)})
    return tuple(item for item in items if isinstance(item, str | int | float))


def combinations(array: Mapping[str, Sequence[ArrayValue]]) -> list[dict[str, ArrayValue]]:
    """Every combination of one value of each list; the last list changes fastest."""
    return [dict(zip(array, values, strict=True)) for values in product(*array.values())]


def members(spec: JobSpec) -> list[tuple[dict[str, ArrayValue], JobSpec]]:
    """The jobs of an array: the values of each, and its own spec, which is no array any more."""
    return [(values, _member(spec, values)) for values in combinations(spec.array)]


def _member(spec: JobSpec, values: Mapping[str, ArrayValue]) -> JobSpec:
    told = ", ".join(f"{name}={value}" for name, value in values.items())
    room = bounds.MAX_NAME_LENGTH - len(spec.name) - 3
    label = told if len(told) <= room else told[: max(0, room - 1)] + "…"
    name = f"{spec.name} [{label}]" if room > 1 else spec.name
    own = replace(spec, name=name, array={}, concurrent=None)
    if spec.recipe is not None:
        return replace(own, params={**spec.params, **values})
    return replace(own, variables={**spec.variables, **{name: str(value) for name, value in values.items()}})
