"""Logging in with a name and a password: every failure is written down, and guessing is slowed down."""

from datetime import datetime, timedelta

from django.contrib.auth import authenticate
from django.db.models import Q

from accounts.errors import LoginRefused, TooManyAttempts
from accounts.models import ApiToken, AuditEntry, User
from accounts.services.audit import record_audit
from accounts.services.tokens import create_token

WINDOW = timedelta(minutes=5)
MOST_PER_NAME_AND_ADDRESS = 10
MOST_PER_NAME = 50  # from many addresses: higher, so that a stranger cannot easily lock somebody out
MOST_PER_ADDRESS = 100
LOGIN_TOKEN_LIFE = timedelta(days=90)


def check_password(*, username: str, password: str, address: str | None, now: datetime) -> User:
    """The active user with this name and password; for the login page and `log_in`.

    Raises `TooManyAttempts` before the password is looked at, else `LoginRefused`. Both outcomes are audited.
    """
    _slow_down_guessing(username, address, now)
    user = authenticate(username=username, password=password) if _storable(username) else None
    if not isinstance(user, User):
        _record_failure(username, address, now)
        raise LoginRefused
    record_audit(
        actor=user, action="logged_in", object_kind="user", object_id=username, address=address, now=now
    )
    return user


def log_in(
    *, username: str, password: str, token_name: str, address: str | None, now: datetime
) -> tuple[ApiToken, str]:
    """Exchange name and password for an API token, as the command line does."""
    user = check_password(username=username, password=password, address=address, now=now)
    return create_token(
        user=user, name=token_name, expires_at=now + LOGIN_TOKEN_LIFE, now=now, address=address
    )


def _slow_down_guessing(username: str, address: str | None, now: datetime) -> None:
    failures = AuditEntry.objects.filter(action="login_failed", at__gt=now - WINDOW)
    by_name = Q(object_id=_shown(username))
    limits = (
        (by_name & Q(address=address), MOST_PER_NAME_AND_ADDRESS),
        (by_name, MOST_PER_NAME),
        (Q(address=address), MOST_PER_ADDRESS),
    )
    for condition, most in limits:
        times = list(failures.filter(condition).order_by("-at").values_list("at", flat=True)[:most])
        if len(times) == most:
            # The oldest of the counted failures leaves the window then, and one more try is free.
            wait = times[-1] + WINDOW - now
            raise TooManyAttempts(retry_after=max(1, int(wait.total_seconds())))


def _record_failure(username: str, address: str | None, now: datetime) -> None:
    record_audit(
        actor=None,
        action="login_failed",
        object_kind="user",
        object_id=_shown(username),
        address=address,
        now=now,
    )


def _storable(username: str) -> bool:
    """PostgreSQL's text holds neither NUL nor half a surrogate pair; no user is named like that."""
    return _shown(username) == username


def _shown(username: str) -> str:
    return "".join(char for char in username if char.isprintable())[:150]
