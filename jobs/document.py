"""Bytes of a request into a plain document (JSON or YAML), with limits; nothing about its meaning."""

import json
import re
from typing import Any, NoReturn

import yaml
from django.utils.translation import gettext_lazy as _

from refusals import Invalid, Problem

MAX_JSON_BYTES = 1_000_000
MAX_YAML_BYTES = 64_000  # the parser is slow; a job file is a few hundred bytes


def read_json(body: bytes, *, max_bytes: int = MAX_JSON_BYTES) -> object:
    """A JSON document. Raises `Invalid` for bad syntax, doubled keys, NaN, too much depth or size."""
    _check_size(body, max_bytes)
    try:
        return json.loads(body.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnicodeDecodeError:
        _refuse(_("is not valid UTF-8"))
    except RecursionError:
        _refuse(_("is too deeply nested"))
    except ValueError as error:
        _refuse(_("is not valid JSON: %(why)s") % {"why": str(error)[:200]})


def read_yaml(body: bytes) -> object:
    """A YAML document of plain values. Raises `Invalid` also for anchors, aliases, tags and doubled keys."""
    _check_size(body, MAX_YAML_BYTES)
    try:
        return yaml.load(body.decode(), Loader=_PlainLoader)  # a SafeLoader with less in it
    except UnicodeDecodeError:
        _refuse(_("is not valid UTF-8"))
    except RecursionError:
        _refuse(_("is too deeply nested"))
    except (yaml.YAMLError, ValueError) as error:
        _refuse(_("is not valid YAML: %(why)s") % {"why": _yaml_problem(error)})


def _check_size(body: bytes, limit: int) -> None:
    if len(body) > limit:
        _refuse(_("has more than %(limit)s bytes") % {"limit": limit})


def _refuse(problem: Any) -> NoReturn:
    raise Invalid(details=[Problem("", problem)]) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise ValueError(f"key {key[:60]!a} occurs twice in one mapping")
        mapping[key] = value
    return mapping


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _yaml_problem(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    text = getattr(error, "problem", None) or str(error)
    return where + text[:200].encode("ascii", "backslashreplace").decode()


class _PlainLoader(yaml.SafeLoader):
    """Mappings, lists, text, numbers, true, false and null. No references, no tags."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """One node, unless it is an alias or carries an anchor or a tag: they unfold to any size or type."""
        event = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs leave the parser's methods bare
        if (
            isinstance(event, yaml.AliasEvent)
            or getattr(event, "anchor", None)
            or getattr(event, "tag", None)
        ):
            raise yaml.constructor.ConstructorError(
                None, None, "anchors, aliases and tags are not supported", event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """One mapping, in which no key may occur twice."""
        seen: set[str] = set()
        for key_node, _value in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in seen:
                problem = f"key {str(key)[:60]!a} occurs twice or is not text"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


_NUMBER_STARTS = "-+.0123456789"
_CORE = (  # YAML 1.2's core rules: `on`, `12:30` and dates are text
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", _NUMBER_STARTS),
    (
        "float",
        r"[-+]?(?:(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)",
        _NUMBER_STARTS,
    ),
)
_PlainLoader.yaml_implicit_resolvers = {}
for _kind, _pattern, _first in _CORE:
    _PlainLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_kind}", re.compile(rf"^(?:{_pattern})$"), list(_first)
    )
