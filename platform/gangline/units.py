"""Numbers, times and foreign text as people read them."""

from datetime import UTC, datetime


def plain(value: object) -> str:
    """The value in one line, with control characters (a job's name may hold them) shown as replacements."""
    if value is None:
        return ""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in str(value))


def amount(value: object) -> str:
    """A number of devices without needless decimals: 4, 0.5."""
    return "" if value is None else f"{float(str(value)):g}"


def size(value: object) -> str:
    """Bytes with a binary unit."""
    if value is None:
        return ""
    number, units = float(str(value)), ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while number >= 1024 and len(units) > 1:
        number, units = number / 1024, units[1:]
    return f"{number:.0f} {units[0]}" if number >= 100 or units[0] == "B" else f"{number:.1f} {units[0]}"


def duration(seconds: float | None) -> str:
    """A length of time with two units at most: 42s, 3m07s, 2h05m, 3d04h."""
    if seconds is None:
        return ""
    whole = round(seconds)
    for unit, small, length in (("d", "h", 86_400), ("h", "m", 3_600), ("m", "s", 60)):
        if whole >= length:
            rest = whole % length // {"h": 3_600, "m": 60, "s": 1}[small]
            return f"{whole // length}{unit}{rest:02}{small}"
    return f"{whole}s"


def moment(text: str | None) -> str:
    """A time of the API in the zone of this machine, with the zone shown."""
    if not text:
        return ""
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def age(text: str | None) -> str:
    """How long ago a time of the API is."""
    return duration((datetime.now(UTC) - datetime.fromisoformat(text)).total_seconds()) if text else ""
