"""When a waiting job is expected to start, in words: the moment in the reader's zone, its basis."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from jobs.explain_causes import filled
from scheduling.model import Basis

_BASES: Mapping[Basis, str | Promise] = {
    Basis.LIMITS: _("from time limits, which are enforced"),
    Basis.PREDICTION: _("predicted from how long such jobs ran before"),
    Basis.UNKNOWN: _("not known: nothing bounds how long the wait may be"),
}
_LATEST = {
    Basis.LIMITS: _("Starts about %(at)s at the latest, as things are (%(basis)s)."),
    Basis.PREDICTION: _("Starts about %(at)s (%(basis)s)."),
    Basis.UNKNOWN: _("May start about %(at)s, if nobody in the way takes longer than expected."),
}
_UNBOUNDED = _("When it starts is %(basis)s.")


def moment_of(at_ms: int) -> datetime:
    """The engine's milliseconds since 1970 as a moment."""
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def moment_text(moment: datetime) -> str:
    """A moment in the reader's time zone, the zone shown."""
    return timezone.localtime(moment).strftime("%Y-%m-%d %H:%M %Z")


def basis_label(basis: str) -> str:
    """What an expected time rests on."""
    return str(_BASES[Basis(basis)])


def eta_sentence(eta: Mapping[str, Any]) -> str:
    """When it starts. `eta`: a stored `scheduling.Eta`."""
    basis = Basis(eta["basis"])
    if eta["at_ms"] is None:
        return filled(_UNBOUNDED, {"basis": basis_label(basis)})
    texts = {"at": moment_text(moment_of(eta["at_ms"])), "basis": basis_label(basis)}
    return filled(_LATEST[basis], texts)
