"""Small pieces of markup that pages share: icons, status pills, bars, who is looking. Widths are SVG
attributes, since the content security policy forbids style attributes.
"""

import hashlib
import math

from django import template
from django.http import HttpRequest
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from portal.templatetags.display import devices, state_name

register = template.Library()

NUM_HUES = 10
THEMES = ("auto", "light", "dark")


@register.simple_tag
def icon(name: str, css: str = "icon") -> SafeString:
    """One drawing of our sprite; decoration only, so it is hidden from screen readers."""
    return format_html(
        '<svg class="{}" aria-hidden="true"><use href="{}#{}"/></svg>', css, static("icons/sprite.svg"), name
    )


@register.simple_tag
def pill(state: str) -> SafeString:
    """A job's state, by word and colour."""
    return format_html('<span class="pill tone-{}">{}</span>', state, state_name(state))


@register.simple_tag
def bar(part: float | None, whole: float | None, tone: str = "", css: str = "bar") -> SafeString:
    """A plain bar, filled to part / whole. The numbers stand beside it: hidden from screen readers."""
    return format_html(
        '<svg class="{} {}" aria-hidden="true"><rect class="fill" width="{}%" height="100%"/></svg>',
        css,
        f"tone-{tone}" if tone else "",
        _percent(part or 0, whole or 0),
    )


@register.simple_tag
def quota_bar(used: int, guarantee: int, limit: int | None, scale: int) -> SafeString:
    """A queue's use (within its guarantee, then borrowed), its guarantee and its limit on one scale."""
    own, room = min(used, guarantee), guarantee
    label = gettext("%(used)s used, %(guarantee)s guaranteed, limit %(limit)s") % {
        "used": devices(used),
        "guarantee": devices(guarantee),
        "limit": devices(limit),
    }
    stop = SafeString("")
    if limit is not None:
        stop = format_html(
            '<rect class="stop" x="{}%" y="1" width="2" height="16"/>', _percent(limit, scale) * 0.99
        )
    return format_html(
        '<svg class="quota" role="img" aria-label="{label}"><title>{label}</title>'
        '<rect class="track" y="5" width="100%" height="8" rx="2"/>'
        '<rect class="room" y="5" width="{room}%" height="8" rx="2"/>'
        '<rect class="own" y="5" width="{own}%" height="8" rx="2"/>'
        '<rect class="borrowed" x="{own}%" y="5" width="{borrowed}%" height="8"/>'
        '<rect class="tick" x="{tick}%" y="2" width="2" height="14"/>{stop}</svg>',
        label=label,
        room=_percent(room, scale),
        own=_percent(own, scale),
        borrowed=_percent(used - own, scale),
        tick=_percent(guarantee, scale) * 0.99,
        stop=stop,
    )


def _percent(part: float, whole: float) -> float:
    if whole <= 0 or not math.isfinite(part):
        return 0.0
    return round(max(0.0, min(100.0, 100.0 * part / whole)), 2)


@register.filter
def percent(part: float | None, whole: float | None) -> int:
    """Part of whole in whole percent, never 100 before it is all done."""
    return math.floor(_percent(part or 0, whole or 0))


@register.filter
def hue(text: object) -> int:
    """One of ten colours, always the same one for the same text."""
    return int.from_bytes(hashlib.sha256(str(text).encode()).digest()[:4]) % NUM_HUES


@register.filter
def initials(name: str) -> str:
    """One or two letters for an avatar."""
    words = str(name).split()
    letters = words[0][:1] + words[-1][:1] if len(words) > 1 else str(name)[:2]
    return letters.upper()


@register.simple_tag
def theme(request: HttpRequest) -> str:
    """The reader's choice of colours; anything that is not one of ours means "as the system"."""
    choice = request.COOKIES.get("theme", "")
    return choice if choice in THEMES else "auto"
