"""Reads the parts of a document and collects what is wrong with each, so that all of it can be told at once.

No rule about jobs lives here: those are in `spec.py`.
"""

import math
from collections.abc import Collection, Iterator, Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from refusals import Problem
from refusals.text import is_printable

MAX_DEPTH = 16
MAX_VALUES = 20_000
_LARGEST = 2**53  # what every JSON reader can hold exactly


def shown(value: object) -> str:
    """A given value, short enough and safe to be quoted in a sentence."""
    match value:
        case str():
            text = value if len(value) <= 60 else value[:57] + "..."
            return "".join(char if is_printable(char) else f"\\u{ord(char):04x}" for char in text)
        case int() if abs(value) > _LARGEST:
            return str(_("a very large number"))
        case None | bool() | int() | float():
            return repr(value)
        case dict():
            return str(_("a mapping"))
        case list():
            return str(_("a list"))
    return type(value).__name__


def is_storable(text: str) -> bool:
    """Whether PostgreSQL can keep the text: no NUL, and every character has a UTF-8 form."""
    return "\x00" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def join(path: str, key: object) -> str:
    """The path of a key below another."""
    return f"{path}.{shown(key)}" if path else shown(key)


class Reading:
    """One document being read. Each method returns the value, or its default after noting the problem."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def refuse(self, path: str, problem: str | Promise) -> None:
        """Note one problem; a path that already has one keeps only the first."""
        if all(known.path != path for known in self.problems):
            self.problems.append(Problem(path, problem))

    def mapping(
        self, value: object, path: str, *, known: Collection[str], later: Collection[str] = ()
    ) -> Mapping[str, object]:
        """A mapping with no keys but the known ones; `later` are not supported yet."""
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.refuse(
                path, _("must be a mapping of keys to values, not %(given)s") % {"given": shown(value)}
            )
            return {}
        for key in value:
            if key in later:
                self.refuse(join(path, key), _("is not available yet"))
            elif key not in known:
                allowed = ", ".join(sorted(known))
                self.refuse(
                    join(path, key), _("is not a known key; allowed: %(allowed)s") % {"allowed": allowed}
                )
        return {key: item for key, item in value.items() if key in known}

    def integer(self, value: object, path: str, *, low: int, high: int, default: int) -> int:
        """A whole number in [low, high]."""
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            limits = {"low": low, "high": high, "given": shown(value)}
            self.refuse(path, _("must be a whole number from %(low)s to %(high)s, not %(given)s") % limits)
            return default
        return value

    def boolean(self, value: object, path: str, *, default: bool = False) -> bool:
        """true or false."""
        if value is None:
            return default
        if not isinstance(value, bool):
            self.refuse(path, _("must be true or false, not %(given)s") % {"given": shown(value)})
            return default
        return value

    def text(self, value: object, path: str, *, max_length: int) -> str | None:
        """Text that is not empty and not longer than `max_length` characters."""
        if value is None:
            return None
        if not isinstance(value, str):
            self.refuse(path, _("must be text, not %(given)s; put it in quotes") % {"given": shown(value)})
            return None
        if not value.strip() or len(value) > max_length:
            sizes = {"max": max_length, "length": len(value)}
            self.refuse(
                path, _("must have 1 to %(max)s characters and not only spaces; it has %(length)s") % sizes
            )
            return None
        return value


def note_unstorable(reading: Reading, document: object) -> None:
    """Refuse what JSON and PostgreSQL cannot keep, anywhere in the document."""
    for count, (path, value, depth) in enumerate(_walk(document)):
        if count >= MAX_VALUES or depth > MAX_DEPTH:
            reading.refuse(path, _("is too large or too deeply nested"))
            return
        problem = _storage_problem(value)
        if problem is not None:
            reading.refuse(path, problem)


def _walk(document: object) -> Iterator[tuple[str, object, int]]:
    pending: list[tuple[str, object, int]] = [("", document, 0)]
    while pending:
        path, value, depth = pending.pop()
        yield path, value, depth
        if isinstance(value, dict):
            pending += [(join(path, key), item, depth + 1) for key, item in reversed(value.items())]
        elif isinstance(value, list):
            pending += [
                (f"{path}[{index}]", item, depth + 1) for index, item in reversed([*enumerate(value)])
            ]


def _storage_problem(value: object) -> str | Promise | None:
    match value:
        case None | bool() | list():
            return None
        case dict():
            return None if all(isinstance(key, str) and is_storable(key) for key in value) else _BAD_KEY
        case str():
            return None if is_storable(value) else _BAD_TEXT
        case int():
            return None if abs(value) <= _LARGEST else _BAD_NUMBER
        case float():
            return None if math.isfinite(value) else _BAD_NUMBER
    return _("must be text, a number, true, false, a list or a mapping; put dates in quotes")


_BAD_KEY = _("has a key that is not plain text")
_BAD_TEXT = _("has characters that are not valid text (NUL or half of a surrogate pair)")
_BAD_NUMBER = _("is not a number that can be kept exactly")
