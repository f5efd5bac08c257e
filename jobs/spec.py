"""The job file: reads a document into a `JobSpec`, and writes one back. Pure; which queues, archives and
checkpoints exist is `services.submit`'s business.
"""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext_lazy as _

from jobs import units
from jobs.recipe_words import check_recipe
from jobs.spec_model import (
    MAX_ARRAY_SIZE,
    MAX_COMMAND_LENGTH,
    MAX_NAME_LENGTH,
    MAX_PRIORITY,
    PRIORITIES,
    CheckpointRule,
    JobSpec,
    Limits,
    Parallelism,
    Resources,
    Workers,
)
from jobs.spec_reading import Reading, note_unstorable, shown
from jobs.spec_scale import (
    read_array,
    read_depends_on,
    read_parallelism,
    read_tensor_topology,
    read_workers,
)
from jobs.spec_sections import read_checkpoint, read_limits, read_resources, read_topology, read_variables
from refusals import Invalid
from refusals.text import name_problem

KEYS = (
    *("name", "queue", "priority", "workers", "resources", "topology", "code", "run", "recipe", "params"),
    *("environment", "checkpoint", "limits", "parallelism", "depends_on", "array"),
)
LATER = ("data", "schedule", "notify")


def parse(document: object, *, levels: Sequence[str] | None = None) -> JobSpec:
    """The spec that a document describes. `levels`: the cluster's topology levels, None to accept any.

    Raises `Invalid` with every problem at once, each with the path of its key.
    """
    reading = Reading()
    if not isinstance(document, dict):
        reading.refuse(
            "", _("must be a mapping of keys to values, not %(given)s") % {"given": shown(document)}
        )
        raise Invalid(details=reading.problems)
    note_unstorable(reading, document)
    if reading.problems:  # values that could not even be quoted in an answer
        raise Invalid(details=reading.problems)
    spec = _job(reading, reading.mapping(document, "", known=KEYS, later=LATER), levels)
    if reading.problems:
        raise Invalid(details=sorted(reading.problems, key=lambda problem: problem.path))
    return spec


def read_priority(document: Mapping[str, object]) -> int:
    """The priority that a document gives, for a change of it alone."""
    reading = Reading()
    if document.get("priority") is None:
        reading.refuse("priority", _("is required"))
    priority = _priority(reading, document.get("priority"))
    if reading.problems:
        raise Invalid(details=reading.problems)
    return priority


def to_document(spec: JobSpec) -> dict[str, object]:
    """The document of a spec, complete and in canonical units: `parse(to_document(spec)) == spec`."""
    document: dict[str, object] = {
        "name": spec.name,
        "queue": spec.queue,
        "priority": spec.priority,
        "workers": _workers_document(spec.workers),
        "resources": _resources_document(spec.resources),
        "parallelism": None if spec.parallelism is None else _parallelism_document(spec.parallelism),
        "topology": _topology_document(spec) or None,
        "code": spec.code,
        "run": spec.command,
        "recipe": spec.recipe,
        "params": dict(spec.params) if spec.recipe else None,
        "environment": {"variables": dict(spec.variables)} if spec.variables else None,
        "checkpoint": _checkpoint_document(spec.checkpoint),
        "limits": _limits_document(spec.limits, spec.concurrent),
        "depends_on": list(spec.depends_on) or None,
        "array": {name: list(values) for name, values in spec.array.items()} or None,
    }
    return {key: value for key, value in document.items() if value is not None}


def _resources_document(resources: Resources) -> dict[str, object]:
    document: dict[str, object] = {"accelerators": units.render_milli(resources.accelerators_milli)}
    if resources.types:
        document["types"] = list(resources.types)
    return document | {
        "cpus": units.render_milli(resources.cpus_milli),
        "memory": units.render_bytes(resources.memory_bytes),
    }


def _workers_document(workers: Workers) -> object:
    if workers.least is None:
        return workers.want
    return {"min": workers.least, "max": workers.most, "want": workers.want}


def _parallelism_document(parallelism: Parallelism) -> dict[str, object]:
    degrees = {name: getattr(parallelism, name) for name in ("tensor", "pipeline", "expert", "context")}
    return {**degrees, "data": parallelism.data or "auto", "zero": parallelism.zero}


def _topology_document(spec: JobSpec) -> dict[str, object]:
    rules = {"job": spec.topology, "tensor": spec.tensor_topology}
    return {
        name: {"within": rule.within, "preferred": rule.preferred}
        for name, rule in rules.items()
        if rule is not None
    }


def _checkpoint_document(rule: CheckpointRule) -> dict[str, object]:
    return {"every": rule.every, "keep": rule.keep} | ({"from": rule.source} if rule.source else {})


def _limits_document(limits: Limits, concurrent: int | None) -> dict[str, object]:
    longest = limits.max_runtime_seconds
    return {
        **({} if longest is None else {"max_runtime": units.render_seconds(longest)}),
        "grace": units.render_seconds(limits.grace_seconds),
        "retries": limits.retries,
        "node_retries": limits.node_retries,
        **({} if concurrent is None else {"concurrent": concurrent}),
    }


def _job(reading: Reading, top: Mapping[str, object], levels: Sequence[str] | None) -> JobSpec:
    workers = read_workers(reading, top.get("workers"))
    recipe, params = _recipe(reading, top)
    parallelism = read_parallelism(reading, top.get("parallelism"), workers=workers, recipe=recipe)
    array = read_array(reading, top.get("array"), recipe=recipe, params=params)
    return JobSpec(
        name=_name(reading, top.get("name")),
        queue=reading.text(top.get("queue"), "queue", max_length=200),
        priority=_priority(reading, top.get("priority")),
        workers=workers,
        resources=read_resources(reading, top.get("resources"), workers=workers.most or workers.want),
        parallelism=parallelism,
        tensor_topology=read_tensor_topology(reading, _part(top, "topology", "tensor"), parallelism),
        topology=read_topology(reading, top.get("topology"), levels),
        code=_code(reading, top.get("code")),
        command=_command(reading, top),
        recipe=recipe,
        params=params,
        variables=read_variables(reading, top.get("environment")),
        checkpoint=read_checkpoint(reading, top.get("checkpoint")),
        limits=read_limits(reading, top.get("limits")),
        depends_on=read_depends_on(reading, top.get("depends_on")),
        array=array,
        concurrent=_concurrent(reading, _part(top, "limits", "concurrent"), is_array=bool(array)),
    )


def _part(top: Mapping[str, object], section: str, key: str) -> object:
    """A key of a section; what is wrong with the section itself is told by whoever reads it whole."""
    part = top.get(section)
    return part.get(key) if isinstance(part, dict) else None


def _concurrent(reading: Reading, value: object, *, is_array: bool) -> int | None:
    path = "limits.concurrent"
    if value is None:
        return None
    if not is_array:
        reading.refuse(path, _("belongs to an array: how many of its jobs may hold devices at once"))
    return reading.integer(value, path, low=1, high=MAX_ARRAY_SIZE, default=1)


def _name(reading: Reading, value: object) -> str:
    if not isinstance(value, str):
        problem = _("is required") if value is None else _("must be text, put it in quotes")
        reading.refuse("name", problem)
        return ""
    wrong = name_problem("name", value, max_length=MAX_NAME_LENGTH)
    if wrong is not None:
        reading.refuse("name", wrong.problem)
    return value


def _priority(reading: Reading, value: object) -> int:
    if isinstance(value, str) and value in PRIORITIES:
        return PRIORITIES[value]
    if isinstance(value, str):
        names = {"names": ", ".join(PRIORITIES), "max": MAX_PRIORITY, "given": shown(value)}
        reading.refuse("priority", _("must be one of %(names)s or 0 to %(max)s, not “%(given)s”") % names)
        return PRIORITIES["normal"]
    return reading.integer(value, "priority", low=0, high=MAX_PRIORITY, default=PRIORITIES["normal"])


def _code(reading: Reading, value: object) -> str | None:
    if isinstance(value, dict):
        reading.refuse("code", _("from a repository is not available yet; upload a folder or an archive"))
        return None
    return reading.text(value, "code", max_length=500)


def _command(reading: Reading, top: Mapping[str, object]) -> str | None:
    if (top.get("run") is None) == (top.get("recipe") is None):
        reading.refuse("run", _("either run (a command) or recipe is required, and not both"))
    return reading.text(top.get("run"), "run", max_length=MAX_COMMAND_LENGTH)


def _recipe(reading: Reading, top: Mapping[str, object]) -> tuple[str | None, Mapping[str, object]]:
    recipe = reading.text(top.get("recipe"), "recipe", max_length=120)
    params = top.get("params")
    if params is not None and not isinstance(params, dict):
        reading.refuse(
            "params", _("must be a mapping of keys to values, not %(given)s") % {"given": shown(params)}
        )
        return recipe, {}
    if recipe is None:
        if params is not None:
            reading.refuse("params", _("belongs to a recipe; a command takes its options on its own line"))
        return recipe, {}
    check_recipe(reading, recipe, params or {})
    return recipe, params or {}
