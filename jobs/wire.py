"""JSON from the cluster's side into the protocol's classes, with every type checked."""

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from jobs.spec_reading import is_storable
from refusals import Invalid, Problem

T = TypeVar("T")

LARGEST = 2**62  # of any number on the wire: far inside a column, and inside what a datetime can be made of


def read(kind: type[T], data: object) -> T:
    """One object of a `ray_runtime.protocol` class. Raises `Invalid` for a missing key or a wrong type."""
    if not isinstance(data, dict):
        raise _refused(kind, "")
    try:
        value: T = kind.from_json(data)  # type: ignore[attr-defined]  # every class of the protocol has it
    except (TypeError, ValueError, AttributeError, KeyError, RecursionError):
        raise _refused(kind, "") from None
    wrong = next((name for name, hint in _hints(kind).items() if not _fits(getattr(value, name), hint)), None)
    if wrong is not None:
        raise _refused(kind, wrong)
    return value


def uuid_or_none(text: object) -> UUID | None:
    """The id that a text names, if it names one."""
    try:
        return UUID(text) if isinstance(text, str) else None
    except ValueError:
        return None


def storable(text: str, *, max_length: int) -> str:
    """Text of the cluster's side as the database can keep it: the rest is replaced or cut off."""
    clean = text[: max_length + 1].replace("\x00", "�").encode("utf-8", "replace").decode()
    return clean if len(clean) <= max_length else clean[: max_length - 1] + "…"


def _refused(kind: type[Any], name: str) -> Invalid:
    problem = _("is not a valid %(kind)s") % {"kind": kind.__name__}
    return Invalid(details=[Problem(name, problem)])


def _hints(kind: type[Any]) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _fits(value: object, hint: Any) -> bool:
    """Whether a decoded value is what the class says; texts also have to be storable, numbers in range."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, Union):
        return any(_fits(value, arm) for arm in args)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(item, args[0]) for item in value)
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            _fits(key, args[0]) and _fits(item, args[1]) for key, item in value.items()
        )
    return hint is Any or _fits_plain(value, hint)


def _fits_plain(value: object, hint: type[Any]) -> bool:
    if hint is type(None) or issubclass(hint, Enum) or hint is bool:
        return isinstance(value, hint)
    if is_dataclass(hint):
        return isinstance(value, hint) and all(
            _fits(getattr(value, name), inner) for name, inner in _hints(hint).items()
        )
    if hint is str:
        return isinstance(value, str) and is_storable(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (hint is float or isinstance(value, int)) and -LARGEST <= value <= LARGEST
