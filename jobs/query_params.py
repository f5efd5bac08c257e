"""Parameters of an address, checked like everything else that comes from outside."""

from rest_framework.request import Request

from jobs.spec_reading import Reading
from refusals import Invalid

_DIGITS = 18  # of any number that is read: far inside a column


def integer(request: Request, name: str, *, low: int, high: int, default: int) -> int:
    """A whole number in [low, high]; `default` where it is left out."""
    found = optional_integer(request, name, low=low, high=high)
    return default if found is None else found


def optional_integer(request: Request, name: str, *, low: int, high: int) -> int | None:
    """A whole number in [low, high], or None where it is left out."""
    text = request.query_params.get(name, "")
    if text == "":
        return None
    reading = Reading()
    usable = text.isascii() and text.isdecimal() and len(text) <= _DIGITS
    value = reading.integer(int(text) if usable else text, name, low=low, high=high, default=low)
    if reading.problems:
        raise Invalid(details=reading.problems)
    return value


def flag(request: Request, name: str) -> bool:
    """Whether a switch such as `download=1` is set."""
    return request.query_params.get(name, "").lower() in ("1", "true", "yes")
