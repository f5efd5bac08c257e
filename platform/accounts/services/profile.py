"""What users change about themselves."""

from datetime import datetime
from zoneinfo import available_timezones

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.services.users import set_password
from refusals import Invalid, Problem
from refusals.text import name_problem


def change_profile(
    *,
    user: User,
    display_name: str | None = None,
    language: str | None = None,
    time_zone: str | None = None,
) -> User:
    """Change what is given; an empty language or time zone means: as the browser or the server has it."""
    problems = [
        problem
        for problem in (_name(display_name), _language(language), _time_zone(time_zone))
        if problem is not None
    ]
    if problems:
        raise Invalid(details=problems)
    given = {"display_name": display_name, "language": language, "time_zone": time_zone}
    changes = {field: value for field, value in given.items() if value is not None}
    for field, value in changes.items():
        setattr(user, field, value)
    user.save(update_fields=list(changes))
    return user


def change_password(*, user: User, current: str, new: str, address: str | None = None, now: datetime) -> None:
    """Change one's own password; the present one is asked for, so an open screen is not enough."""
    if not user.check_password(current):
        raise Invalid(details=[Problem("current", _("is not your present password"))])
    set_password(user=user, password=new, actor=user, address=address, now=now)


def _name(value: str | None) -> Problem | None:
    return name_problem("display_name", value, max_length=120) if value else None


def _language(value: str | None) -> Problem | None:
    codes = [code for code, _label in settings.LANGUAGES]
    if not value or value in codes:
        return None
    return Problem("language", _("must be one of: %(codes)s") % {"codes": ", ".join(codes)})


def _time_zone(value: str | None) -> Problem | None:
    if not value or value in available_timezones():
        return None
    return Problem("time_zone", _("must be a time zone's name, for example Asia/Shanghai"))
