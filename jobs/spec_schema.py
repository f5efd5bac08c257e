"""The job file as JSON Schema (2020-12), as published. A test holds it against `spec.parse`."""

from collections.abc import Mapping
from typing import Any

from jobs import spec_model as bounds
from ray_runtime.recipe_params import RECIPES

_DURATION = {
    "oneOf": [
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": "^(?:[0-9]+d)?(?:[0-9]+h)?(?:[0-9]+m)?(?:[0-9]+s)?$", "minLength": 2},
    ],
    "description": "60s, 30m, 1h30m, 2d, or a whole number of seconds.",
}


def _section(description: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "properties": dict(properties),
        "additionalProperties": False,
    }


_RESOURCES = _section(
    "What each worker gets.",
    {
        "accelerators": {
            "type": "number",
            "minimum": 0,
            "maximum": bounds.MAX_ACCELERATORS,
            "default": 1,
            "description": "A whole number, or a part of one device with a single worker.",
        },
        "types": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$"},
            "minItems": 1,
            "maxItems": 16,
            "uniqueItems": True,
            "description": "Accelerator types, the preferred one first; any when left out.",
        },
        "cpus": {"type": "number", "minimum": 0, "maximum": bounds.MAX_CPUS_MILLI / 1000, "default": 0},
        "memory": {
            "oneOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": "^[0-9]+(?:[.][0-9]+)? ?(?:B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)?$"},
            ],
            "description": "8GiB, 512MiB, or a whole number of bytes.",
        },
    },
)
_TOPOLOGY = _section(
    "Where the workers may be in relation to each other.",
    {
        "job": {
            **_section(
                "The whole gang inside one domain of a level.",
                {
                    "within": {"type": "string", "description": "A topology level: rack, node, link, ..."},
                    "preferred": {
                        "type": "boolean",
                        "default": False,
                        "description": "A wish instead of a condition.",
                    },
                },
            ),
            "required": ["within"],
        }
    },
)
_TOPOLOGY["properties"]["tensor"] = {
    **_section(
        "Each tensor group (parallelism.tensor workers) inside one link domain; so unless this is preferred.",
        {
            "within": {"enum": ["link", "nvlink", "hccs"]},
            "preferred": {"type": "boolean", "default": False},
        },
    ),
    "required": ["within"],
}
_COUNT = {"type": "integer", "minimum": 1, "maximum": bounds.MAX_WORKERS}
_WORKERS = {
    "oneOf": [
        _COUNT,
        {
            **_section(
                "An elastic gang: it starts and goes on with any number from min to want.",
                {"min": _COUNT, "max": _COUNT, "want": _COUNT},
            ),
            "required": ["min", "max"],
        },
    ],
    "default": 1,
}
_DEGREE = {"type": "integer", "minimum": 1, "maximum": 1024, "default": 1}
_PARALLELISM = _section(
    "How the program divides its model over the workers: sizes are multiples of all degrees but data.",
    {
        **dict.fromkeys(("tensor", "pipeline", "expert", "context"), _DEGREE),
        "data": {"oneOf": [{"const": "auto"}, _COUNT], "default": "auto"},
        "zero": {"type": "integer", "minimum": 0, "maximum": 3, "default": 0},
    },
)
_ARRAY = {
    "type": "object",
    "description": "One job for each combination of values: parameters of the recipe, or else variables.",
    "minProperties": 1,
    "maxProperties": bounds.MAX_ARRAY_KEYS,
    "additionalProperties": {"type": "array", "minItems": 1, "items": {"type": ["string", "number"]}},
}
_ENVIRONMENT = _section(
    "What the workers find in their environment.",
    {
        "variables": {
            "type": "object",
            "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]{0,127}$"},
            "additionalProperties": {"type": ["string", "integer"]},
            "maxProperties": bounds.MAX_VARIABLES,
        }
    },
)
_CHECKPOINT = _section(
    "When to save, how many to keep, which to start from.",
    {
        "every": {
            "type": ["string", "integer"],
            "default": "auto",
            "description": "auto, a number of steps, or a duration such as 5m.",
        },
        "keep": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 3},
        "from": {"type": "string", "format": "uuid", "description": "The id of a checkpoint of the team."},
    },
)
_LIMITS = _section(
    "Time and repeats.",
    {
        "max_runtime": {**_DURATION, "title": "Longest run time of one attempt"},
        "grace": {**_DURATION, "title": "From the order to stop to the kill", "default": "60s"},
        "concurrent": {
            "type": "integer",
            "minimum": 1,
            "maximum": bounds.MAX_ARRAY_SIZE,
            "description": "How many jobs of an array may hold devices at once.",
        },
        "retries": {
            "type": "integer",
            "minimum": 0,
            "maximum": 100,
            "default": 0,
            "description": "Repeats after a failure of the program.",
        },
        "node_retries": {
            "type": "integer",
            "minimum": 0,
            "maximum": 1000,
            "default": 10,
            "description": "Repeats after a failure of a node or the platform.",
        },
    },
)

SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Gangline job",
    **_section(
        "One training job.",
        {
            "name": {"type": "string", "minLength": 1, "maxLength": bounds.MAX_NAME_LENGTH},
            "queue": {"type": "string", "description": "A queue of one of the caller's teams."},
            "priority": {
                "oneOf": [
                    {"enum": sorted(bounds.PRIORITIES)},
                    {"type": "integer", "minimum": 0, "maximum": bounds.MAX_PRIORITY},
                ],
                "default": "normal",
            },
            "workers": _WORKERS,
            "parallelism": _PARALLELISM,
            "resources": _RESOURCES,
            "topology": _TOPOLOGY,
            "code": {"type": "string", "description": "The id of an uploaded archive."},
            "run": {"type": "string", "minLength": 1, "maxLength": bounds.MAX_COMMAND_LENGTH},
            "recipe": {"enum": sorted(RECIPES)},
            "params": {"type": "object", "description": "Of the recipe."},
            "environment": _ENVIRONMENT,
            "checkpoint": _CHECKPOINT,
            "limits": _LIMITS,
            "depends_on": {
                "type": "array",
                "items": {"type": "string", "format": "uuid"},
                "minItems": 1,
                "maxItems": bounds.MAX_DEPENDENCIES,
                "description": "Jobs that have to end first; if one fails or is cancelled, so is this one.",
            },
            "array": _ARRAY,
        },
    ),
    "required": ["name"],
    "oneOf": [{"required": ["run"]}, {"required": ["recipe"]}],
}
