"""The one family of errors that a user sees: a stable code, a sentence, what was given, what to do next.

Every app's `errors.py` subclasses `Refusal`; the edges map the class to an HTTP status or exit code once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with the input: the path of the key, and what is wrong in the reader's words."""

    path: str
    problem: str | Promise


class Refusal(Exception):  # noqa: N818  # it is an answer, not a defect
    """A request that is refused, and why. `message` is translated when it is read, not when it is raised."""

    code: ClassVar[str] = "refused"
    status: ClassVar[int] = 400
    template: ClassVar[str | Promise] = _("The request was refused.")

    def __init__(self, *, details: Sequence[Problem] = (), **params: object) -> None:
        super().__init__(self.code, params)
        self.params: Mapping[str, object] = params
        self.details = tuple(details)

    @property
    def message(self) -> str:
        """The sentence in the active language, with its parameters filled in."""
        return str(self.template) % self.params


class Invalid(Refusal):
    """The input does not say something possible; `details` has every problem at once."""

    code = "invalid"
    status = 422
    template = _("The input has problems; each is listed with its path. Correct them and send it again.")


class NotFound(Refusal):
    """No such object, or none that this user may know of: both read the same."""

    code = "not_found"
    status = 404
    template = _("There is no %(kind)s “%(id)s”, or you may not see it. Check the id and your team.")


class Forbidden(Refusal):
    """The user may see the object but not do this to it."""

    code = "forbidden"
    status = 403
    template = _("Your role does not allow this (%(action)s). Ask an admin of the team.")


class Conflict(Refusal):
    """The object is not in a state in which this can be done."""

    code = "conflict"
    status = 409
    template = _("This cannot be done now: %(why)s")
