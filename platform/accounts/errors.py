"""How the front door refuses."""

from django.utils.translation import gettext_lazy as _

from refusals import Refusal


class LoginRefused(Refusal):
    """Wrong name or password, or an account that is switched off: all read the same."""

    code = "login_refused"
    status = 401
    template = _("The name or the password is not right, or the account is switched off. Check both.")


class TooManyAttempts(Refusal):
    """Guessing is slowed down. `retry_after` also goes out as the `Retry-After` header."""

    code = "too_many_attempts"
    status = 429
    template = _("There were too many failed logins. Try again in %(retry_after)s seconds.")
