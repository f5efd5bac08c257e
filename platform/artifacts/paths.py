"""The one rule for paths that come from outside: relative, inside, printable. Pure."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from refusals.text import is_printable

LONGEST_PATH = 500
LONGEST_NAME_BYTES = 255  # what file systems hold


def path_problem(path: str) -> str | Promise | None:
    """What is wrong with a path such as `结果/loss.csv`, or None. Names are kept letter for letter."""
    if not path or len(path) > LONGEST_PATH:
        return _("a path must have 1 to %(most)d characters") % {"most": LONGEST_PATH}
    if not is_printable(path):
        return _("a path must have printable characters only (no NUL, no control characters)")
    if "\\" in path:
        return _("a path must not have a backslash; folders are separated by “/”")
    if path.startswith("/"):
        return _("a path must be relative, not begin with “/”")
    return next((problem for name in path.split("/") if (problem := _name_problem(name))), None)


def _name_problem(name: str) -> str | Promise | None:
    if name in ("", ".", ".."):
        return _("a path must not have “..”, “.” or empty parts")
    if len(name.encode()) > LONGEST_NAME_BYTES:
        return _("each part of a path must have at most %(most)d bytes") % {"most": LONGEST_NAME_BYTES}
    return None
