"""The rule for every name that people give: printable Unicode, not blank, not too long."""

import unicodedata

from django.utils.translation import gettext_lazy as _

from refusals import Problem

# Format characters that scripts and emoji need: zero-width non-joiner and joiner.
_JOINERS = frozenset("\u200c\u200d")
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def is_printable(text: str) -> bool:
    """Whether every character shows: no control, no direction override, no lone surrogate, no line break."""
    return all(char in _JOINERS or unicodedata.category(char) not in _UNPRINTABLE for char in text)


def name_problem(path: str, text: str, *, max_length: int) -> Problem | None:
    """What is wrong with a name that a person gave, or None. Markup and formulas are letters like others."""
    if not text.strip():
        return Problem(path, _("must not be empty or blank"))
    if len(text) > max_length:
        return Problem(
            path,
            _("must have at most %(most)d characters, this has %(given)d")
            % {"most": max_length, "given": len(text)},
        )
    if not is_printable(text):
        return Problem(path, _("must have printable characters only (no control characters, no line breaks)"))
    return None
