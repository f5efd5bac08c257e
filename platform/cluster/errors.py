"""How the portal refuses a conductor that is not, or not any more, the one in charge."""

from django.utils.translation import gettext_lazy as _

from refusals import Refusal


class StaleEpoch(Refusal):
    """Another conductor has taken over; this one must give up what it believes and stop."""

    code = "stale_epoch"
    status = 409
    template = _("Epoch %(given)s is not the present one (%(present)s): another conductor has taken over.")


class ReportGap(Refusal):
    """Reports are missing before these; the conductor sends again from `expected` on."""

    code = "report_gap"
    status = 409
    template = _("Reports begin at %(given)s, but %(expected)s is the next one: send again from there.")
