"""Reads the fields of one JSON object, and says where what is missing, unknown or of the wrong kind."""

from collections.abc import Mapping
from typing import Any

FOR_READERS = frozenset({"about", "comment", "description", "note", "source", "title", "why"})


class CaseError(Exception):
    """Something in a case file cannot be read: where, and what is wrong there."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")


class Fields:
    """One object. Each reader marks its field as known; `finish` refuses the others."""

    def __init__(self, row: object, *, where: str) -> None:
        if not isinstance(row, Mapping):
            raise CaseError(where, f"an object is expected, not {shown(row)}")
        self.where = where
        self._row: Mapping[str, Any] = row
        self._known: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._row

    def get(self, name: str) -> Any:
        """The field as it is, or None."""
        self._known.add(name)
        return self._row.get(name)

    def required(self, name: str) -> Any:
        """The field as it is; it has to be there."""
        if name not in self._row:
            raise CaseError(self.where, f"the field {name!r} is missing")
        return self.get(name)

    def text(self, name: str, default: str | None = None) -> str:
        """A text; required without a default."""
        value = self.required(name) if default is None else self._or(name, default)
        if not isinstance(value, str) or not value:
            raise self._wrong(name, "a text", value)
        return value

    def maybe_text(self, name: str) -> str:
        """A text, or "" where it is null or missing."""
        return "" if self.get(name) is None else self.text(name)

    def whole(self, name: str, default: int | None = None) -> int:
        """A whole number, not negative; required without a default."""
        value = self.required(name) if default is None else self._or(name, default)
        if not _is_number(value) or value != int(value) or value < 0:
            raise self._wrong(name, "a whole number, 0 or more,", value)
        return int(value)

    def maybe_whole(self, name: str) -> int | None:
        """A whole number, or None where it is null or missing."""
        return None if self.get(name) is None else self.whole(name)

    def integer(self, name: str, default: int) -> int:
        """A whole number, which may be negative."""
        value = self._or(name, default)
        if not _is_number(value) or value != int(value):
            raise self._wrong(name, "a whole number", value)
        return int(value)

    def milli(self, name: str, default: int) -> int:
        """An amount in thousandths; it may be a fraction."""
        return milli_of(self._or(name, default), where=f"{self.where}.{name}")

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        value = self._or(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false", value)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; one text is a list of one, null or nothing is an empty one."""
        value = self._or(name, ())
        found = (value,) if isinstance(value, str) else value
        if not isinstance(found, list | tuple) or not all(isinstance(each, str) for each in found):
            raise self._wrong(name, "a list of texts", value)
        return tuple(found)

    def rows(self, name: str) -> list[Any]:
        """A list of anything; empty if it is missing."""
        value = self._or(name, [])
        if not isinstance(value, list):
            raise self._wrong(name, "a list", value)
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        """An object; empty if it is missing."""
        value = self._or(name, {})
        if not isinstance(value, dict):
            raise self._wrong(name, "an object", value)
        return value

    def others(self) -> dict[str, Any]:
        """The fields that nobody has asked for; after this they are known."""
        found = {name: self._row[name] for name in self._row.keys() - self._known - FOR_READERS}
        self._known |= found.keys()
        return found

    def finish(self) -> None:
        """Refuses the fields that nobody has asked for."""
        unknown = sorted(self._row.keys() - self._known - FOR_READERS)
        if unknown:
            allowed = ", ".join(sorted(self._known))
            raise CaseError(self.where, f"unknown field {shown(unknown[0])}; known are {allowed}")

    def _or(self, name: str, default: Any) -> Any:
        value = self.get(name)
        return default if value is None else value

    def _wrong(self, name: str, wanted: str, value: object) -> CaseError:
        return CaseError(f"{self.where}.{name}", f"{wanted} is expected, not {shown(value)}")


def milli_of(value: object, *, where: str) -> int:
    """A number of devices or processors in thousandths."""
    if not _is_number(value) or float(str(value)) < 0:
        raise CaseError(where, f"a number, 0 or more, is expected, not {shown(value)}")
    return round(float(str(value)) * 1000)


def shown(value: object) -> str:
    """A value as an error shows it: short."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
