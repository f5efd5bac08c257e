"""Why a node is not well: what the portal found as codes, what the cluster says as its own words."""

from collections.abc import Mapping
from enum import StrEnum

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class Problem(StrEnum):
    """What the portal itself finds; stored, and put into words when read."""

    SILENT = "silent"
    GONE = "gone"
    DEAD = "dead"


_SENTENCES: Mapping[str, str | Promise] = {
    Problem.SILENT: _("Nothing was heard of this node, or of the conductor that speaks for it, for a while."),
    Problem.GONE: _("The node is not part of the cluster any more."),
    Problem.DEAD: _("The cluster says that the node is dead."),
}


def problem_sentence(problem: str) -> str:
    """The problem in the reader's language where it is ours, else as the cluster put it."""
    return str(_SENTENCES.get(problem, problem))
