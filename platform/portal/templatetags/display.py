"""How amounts, times and durations read: in the reader's language and time zone. No markup but `<time>`."""

import datetime as dt

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext, pgettext
from django.utils.translation import gettext_lazy as _

from jobs.models import JobState

register = template.Library()

MINUTE, HOUR, DAY = 60, 3600, 86400
BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
PRIORITY_NAMES = {100: _("Low"), 200: _("Normal"), 300: _("High"), 400: _("Urgent")}
STATE_NAMES = {
    JobState.QUEUED: _("Queued"),
    JobState.HELD: _("Held"),
    JobState.STARTING: _("Starting"),
    JobState.RUNNING: _("Running"),
    JobState.STOPPING: _("Stopping"),
    JobState.SUCCEEDED: _("Succeeded"),
    JobState.FAILED: _("Failed"),
    JobState.CANCELLED: _("Cancelled"),
}


@register.filter
def state_name(state: str) -> str:
    """The word for a job's state."""
    return str(STATE_NAMES[JobState(state)])


@register.filter
def devices(milli: int | None) -> str:
    """An amount of accelerators in devices: 16000 is "16", 500 is "0.5"; None (no limit) is "∞"."""
    if milli is None:
        return "∞"
    return f"{milli / 1000:.3f}".rstrip("0").rstrip(".")


@register.filter
def filesize(num_bytes: int) -> str:
    """A size in binary units with three significant digits."""
    value, unit = float(num_bytes), 0
    while value >= 1024 and unit < len(BYTE_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    digits = 0 if unit == 0 or value >= 100 else 1
    return f"{value:.{digits}f}".removesuffix(".0") + f" {BYTE_UNITS[unit]}"


@register.filter
def grouped(number: int | None) -> str:
    """A whole number with thin groups of three: 1 204 000."""
    return "–" if number is None else f"{number:,}".replace(",", "\u2009")


@register.filter
def number(value: object) -> str:
    """A measured value with four significant digits."""
    if not isinstance(value, int | float) or value != value:  # noqa: PLR0124  # NaN
        return "–" if value is None else str(value)
    size = abs(value)
    if size >= 1000:
        return grouped(round(value)) if size < 1e9 else f"{value:.3e}"
    return f"{value:.4g}"


@register.filter
def priority_name(priority: int) -> str:
    """Normal, high, ... for the named priorities, the number itself for the others."""
    return str(PRIORITY_NAMES.get(priority, priority))


@register.filter
def priority_tone(priority: int) -> str:
    """The class that colours a priority."""
    return "urgent" if priority >= 400 else "high" if priority >= 300 else ""


@register.filter
def span(length: dt.timedelta | float | None) -> str:
    """A duration with its two largest units: 42s, 12m 05s, 3h 07m, 2d 4h."""
    if length is None:
        return "–"
    seconds = length.total_seconds() if isinstance(length, dt.timedelta) else length
    return gettext("<1s") if 0 < seconds < 1 else _two_units(max(int(seconds), 0))


def _two_units(seconds: int) -> str:
    if seconds < MINUTE:
        return gettext("%(s)ds") % {"s": seconds}
    if seconds < HOUR:
        return gettext("%(m)dm %(s)02ds") % {"m": seconds // MINUTE, "s": seconds % MINUTE}
    if seconds < DAY:
        return gettext("%(h)dh %(m)02dm") % {"h": seconds // HOUR, "m": seconds % HOUR // MINUTE}
    return gettext("%(d)dd %(h)dh") % {"d": seconds // DAY, "h": seconds % DAY // HOUR}


@register.filter
def interval(text: str) -> str:
    """How often checkpoints are saved, as a job file keeps it ("50 steps", "300s"), in the reader's words."""
    number, _space, _unit = text.removesuffix("s").partition(" ")
    if not number.isdecimal():
        return text
    if text.endswith("steps"):
        return ngettext("%(number)s step", "%(number)s steps", int(number)) % {"number": grouped(int(number))}
    return span(float(number))


@register.filter
def minus(later: dt.datetime, earlier: dt.datetime) -> dt.timedelta:
    """The time between two moments."""
    return later - earlier


@register.simple_tag
def duration_units() -> str:
    """The unit words of `span` for the ticking clocks of static/js, and what stands between two of them."""
    return pgettext("unit words: day, hour, minute, second, separator; keep the bars", "d|h|m|s| ")


@register.simple_tag
def moment(at: dt.datetime | None, *, seconds: bool = False) -> SafeString | str:
    """A point in time in the reader's zone, the whole of it with its zone in the tooltip."""
    if at is None:
        return "–"
    local = timezone.localtime(at)
    form = "%m-%d %H:%M:%S" if seconds else "%m-%d %H:%M"
    if local.year != timezone.localtime().year:
        form = f"%Y-{form}"
    title = f"{local:%Y-%m-%d %H:%M:%S} {zone_name()}"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', at.isoformat(), title, local.strftime(form)
    )


@register.simple_tag
def ticking(since: dt.datetime | None, now: dt.datetime) -> SafeString | str:
    """How long ago something began; JavaScript lets it tick, without JavaScript it is right as of `now`."""
    if since is None:
        return "–"
    return format_html(
        '<time datetime="{}" data-since="{}">{}</time>',
        since.isoformat(),
        int(since.timestamp() * 1000),
        span(now - since),
    )


@register.simple_tag
def zone_name() -> str:
    """The active time zone with its present distance from UTC: "Asia/Shanghai (UTC+8)"."""
    name = str(timezone.get_current_timezone())
    minutes = int((timezone.localtime().utcoffset() or dt.timedelta()).total_seconds() // 60)
    hours, rest = divmod(abs(minutes), 60)
    sign = "-" if minutes < 0 else "+"
    distance = "UTC" if minutes == 0 else f"UTC{sign}{hours}" + (f":{rest:02d}" if rest else "")
    return name if name == distance else f"{name} ({distance})"
