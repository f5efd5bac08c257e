"""Amounts as people write them (8GiB, 12h) and as we keep them (bytes, seconds, milli-units). Pure."""

import re
from decimal import Decimal

_BYTES = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([A-Za-z]{0,3})")
_DURATION = re.compile(r"(?:([0-9]{1,6})d)?(?:([0-9]{1,7})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?")
_TIDY = ("TiB", "GiB", "MiB", "KiB")


def parse_bytes(value: object) -> int | None:
    """Bytes of `8GiB`, `512 MB` or a whole number; None if it is not an amount of memory."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if value >= 0 else None
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2] not in _BYTES:
        return None
    return int(Decimal(match[1]) * _BYTES[match[2]])


def render_bytes(amount: int) -> int | str:
    """The shortest exact way to write an amount that `parse_bytes` reads back."""
    for unit in _TIDY:
        if amount and amount % _BYTES[unit] == 0:
            return f"{amount // _BYTES[unit]}{unit}"
    return amount


def parse_seconds(value: object) -> int | None:
    """Seconds of `12h`, `1h30m`, `60s` or a whole number of seconds; None if it is not a duration."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if value >= 0 else None
    match = _DURATION.fullmatch(value) if isinstance(value, str) and value else None
    if match is None:
        return None
    return sum(
        int(part) * factor for part, factor in zip(match.groups(), _SECONDS.values(), strict=True) if part
    )


def render_seconds(amount: int) -> str:
    """A duration in its largest units, as `parse_seconds` reads it back: 5400 is `1h30m`."""
    parts = []
    for unit, factor in _SECONDS.items():
        count, amount = divmod(amount, factor)
        parts.append(f"{count}{unit}" if count else "")
    return "".join(parts) or "0s"


def parse_milli(value: object) -> int | None:
    """Milli-units of a number with at most three decimals (0.5 is 500); None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 10**9:
        return None
    milli = Decimal(str(value)) * 1000
    return int(milli) if milli == milli.to_integral_value() and milli >= 0 else None


def render_milli(amount: int) -> int | float:
    """Milli-units as the number that people write: 500 is 0.5, 2000 is 2."""
    return amount // 1000 if amount % 1000 == 0 else amount / 1000
