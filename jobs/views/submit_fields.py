"""The submit form's fields and the job document, each made from the other. Pure.

A field that is left empty is a key that the document does not have. What is no field stays in the document.
"""

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

Path = tuple[str, ...]

# Field -> key of the document; the values are numbers where they read as numbers, else text.
PLAIN: Mapping[str, Path] = {
    "name": ("name",),
    "queue": ("queue",),
    "priority": ("priority",),
    "workers": ("workers",),
    "accelerators": ("resources", "accelerators"),
    "cpus": ("resources", "cpus"),
    "memory": ("resources", "memory"),
    "within": ("topology", "job", "within"),
    "code_id": ("code",),
    "run": ("run",),
    "recipe": ("recipe",),
    "every": ("checkpoint", "every"),
    "keep": ("checkpoint", "keep"),
    "from": ("checkpoint", "from"),
    "max_runtime": ("limits", "max_runtime"),
    "grace": ("limits", "grace"),
    "retries": ("limits", "retries"),
    "node_retries": ("limits", "node_retries"),
}
ALWAYS_TEXT = frozenset({"name", "queue", "run", "recipe", "within", "from", "code_id"})
# The workers of an elastic gang in one field: 2..8, or 2..8/4 where 4 are wanted now.
_RANGE = re.compile(r"(?P<min>[0-9]{1,9}) ?\.\. ?(?P<max>[0-9]{1,9})(?: ?/ ?(?P<want>[0-9]{1,9}))?")
TYPES: Path = ("resources", "types")
PREFERRED: Path = ("topology", "job", "preferred")
VARIABLES: Path = ("environment", "variables")
PARAM_PREFIX = "param."
ORDER = (
    *(
        "name",
        "queue",
        "priority",
        "workers",
        "parallelism",
        "resources",
        "topology",
        "code",
        "run",
        "recipe",
    ),
    *("params", "environment", "checkpoint", "limits", "depends_on", "array"),
)


def document_of(fields: Mapping[str, str], base: object) -> dict[str, Any]:
    """The document that the form describes; keys of `base` that the form has no field for are kept."""
    document = copy.deepcopy(base) if isinstance(base, dict) else {}
    for field, path in PLAIN.items():
        if field in fields:
            _put(document, path, _value(field, fields[field]))
    _put(document, TYPES, _list(fields.get("types", "")))
    _put(document, PREFERRED, True if fields.get("preferred") and fields.get("within") else None)
    _put(document, VARIABLES, _variables(fields.get("variables", "")))
    _put_program(document, fields)
    return _ordered(document)


def fields_of(document: object) -> dict[str, str]:
    """What the form shows for a document; parts that are not as they should be are shown empty."""
    fields = {field: _text(_get(document, path)) for field, path in PLAIN.items()}
    fields["workers"] = _workers_text(_get(document, ("workers",)))
    types, variables = _get(document, TYPES), _get(document, VARIABLES)
    fields["types"] = ", ".join(map(str, types)) if isinstance(types, list) else ""
    fields["preferred"] = "1" if _get(document, PREFERRED) is True else ""
    if isinstance(variables, dict):
        fields["variables"] = "\n".join(f"{name}={value}" for name, value in variables.items())
    fields["program"] = "recipe" if _get(document, ("recipe",)) is not None else "run"
    params = _get(document, ("params",))
    if isinstance(params, dict):
        fields |= {f"{PARAM_PREFIX}{name}": _text(value) for name, value in params.items()}
    return fields


def _put_program(document: dict[str, Any], fields: Mapping[str, str]) -> None:
    """A command or a recipe with its parameters: the other one leaves the document."""
    if fields.get("program") == "run":
        document.pop("recipe", None)
        document.pop("params", None)
        return
    document.pop("run", None)
    for field, text in fields.items():
        if field.startswith(PARAM_PREFIX):
            _put(document, ("params", field.removeprefix(PARAM_PREFIX)), _value(field, text))


def _value(field: str, text: str) -> str | int | float | dict[str, int] | None:
    text = text.replace("\r\n", "\n")
    if not text.strip():
        return None
    if field == "workers" and (match := _RANGE.fullmatch(text.strip())):
        given = {"min": match["min"], "max": match["max"], "want": match["want"]}
        return {key: int(number) for key, number in given.items() if number is not None}
    return text if field in ALWAYS_TEXT else _number(text.strip())


def _number(text: str) -> str | int | float:
    for read in (int, float):
        try:
            number = read(text)
        except ValueError:
            continue
        return number if text.isascii() and "_" not in text and number == number else text  # noqa: PLR0124  # NaN
    return text


def _list(text: str) -> list[str] | None:
    items = [item.strip() for item in text.split(",") if item.strip()]
    return items or None


def _variables(text: str) -> dict[str, str] | None:
    """Lines of NAME=value; one without "=" is a name with an empty value, so that nothing typed is lost."""
    lines = [line.partition("=") for line in text.splitlines() if line.strip()]
    return {name.strip(): value.strip() for name, _equals, value in lines} or None


def _put(document: dict[str, Any], path: Path, value: object) -> None:
    """Set the key, making what is above it; None takes it away, and what is left empty above it."""
    if len(path) == 1:
        if value is None:
            document.pop(path[0], None)
        else:
            document[path[0]] = value
        return
    inner = document.get(path[0])
    inner = inner if isinstance(inner, dict) else {}
    _put(inner, path[1:], value)
    if inner:
        document[path[0]] = inner
    else:
        document.pop(path[0], None)


def _get(document: object, path: Path) -> object:
    for key in path:
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document


def _text(value: object) -> str:
    return "" if value is None or isinstance(value, dict | list) else str(value)


def _workers_text(value: object) -> str:
    if not isinstance(value, dict):
        return _text(value)
    least, most, want = (_text(value.get(key)) for key in ("min", "max", "want"))
    return f"{least}..{most}" + (f"/{want}" if want and want != most else "")


def _ordered(document: dict[str, Any], order: Sequence[str] = ORDER) -> dict[str, Any]:
    """Keys in the order of the documentation, unknown ones behind."""
    known = {key: document[key] for key in order if key in document}
    return known | {key: value for key, value in document.items() if key not in known}
