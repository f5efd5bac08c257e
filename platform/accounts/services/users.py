"""People and robots that log in: made, switched off and on, given passwords and admin's rights."""

from datetime import datetime

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.permissions import require_platform_admin
from accounts.services.audit import record_audit
from refusals import Conflict, Invalid, Problem
from refusals.model_errors import problems_of
from refusals.text import name_problem


def create_user(
    *,
    username: str,
    password: str,
    display_name: str = "",
    email: str = "",
    is_platform_admin: bool = False,
    actor: User | None = None,
    address: str | None = None,
    now: datetime,
) -> User:
    """Make a user who can log in at once. `actor` None is the platform itself (the first admin, the seed).

    Raises `Invalid` with every problem of name, e-mail and password.
    """
    if actor is not None:
        require_platform_admin(actor)
    user = User(
        username=username,
        display_name=display_name,
        email=email,
        is_platform_admin=is_platform_admin,
        date_joined=now,
    )
    _check_user(user, password)
    user.set_password(password)
    _save_new(user, actor=actor, address=address, now=now)
    return user


def set_password(
    *, user: User, password: str, actor: User | None = None, address: str | None = None, now: datetime
) -> None:
    """Give the user another password; every browser session of theirs ends with it."""
    if actor is not None and actor != user:
        require_platform_admin(actor)
    if problems := password_problems(user, password):
        raise Invalid(details=problems)
    user.set_password(password)
    with transaction.atomic():
        user.save(update_fields=["password"])
        _record(user, "password_set", actor=actor, address=address, now=now)


def set_active(
    *, user: User, is_active: bool, actor: User | None = None, address: str | None = None, now: datetime
) -> None:
    """Switch an account off (sessions and tokens stop working at once) or on again."""
    if actor is not None:
        require_platform_admin(actor)
    with transaction.atomic():
        if not is_active:
            _keep_one_admin(user)
        user.is_active = is_active
        user.save(update_fields=["is_active"])
        action = "user_switched_on" if is_active else "user_switched_off"
        _record(user, action, actor=actor, address=address, now=now)


def set_platform_admin(
    *,
    user: User,
    is_platform_admin: bool,
    actor: User | None = None,
    address: str | None = None,
    now: datetime,
) -> None:
    """Give or take the rights of a platform admin."""
    if actor is not None:
        require_platform_admin(actor)
    with transaction.atomic():
        if not is_platform_admin:
            _keep_one_admin(user)
        user.is_platform_admin = is_platform_admin
        user.save(update_fields=["is_platform_admin"])
        action = "platform_admin_given" if is_platform_admin else "platform_admin_taken"
        _record(user, action, actor=actor, address=address, now=now)


def password_problems(user: User, password: str) -> list[Problem]:
    """What the password rules have against it."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        return problems_of(error, path="password")
    return []


def _check_user(user: User, password: str) -> None:
    problems: list[Problem] = []
    try:
        user.full_clean(exclude=["password"])
    except ValidationError as error:
        problems += problems_of(error)
    if user.display_name and (problem := name_problem("display_name", user.display_name, max_length=120)):
        problems = [p for p in problems if p.path != "display_name"] + [problem]
    problems += password_problems(user, password)
    if problems:
        raise Invalid(details=problems)


def _save_new(user: User, *, actor: User | None, address: str | None, now: datetime) -> None:
    try:
        with transaction.atomic():
            user.save(force_insert=True)
            data = {"is_platform_admin": user.is_platform_admin}
            record_audit(
                actor=actor,
                action="user_created",
                object_kind="user",
                object_id=user.username,
                data=data,
                address=address,
                now=now,
            )
    except IntegrityError:  # the same name came in at the same moment, after the check above
        raise Invalid(details=[Problem("username", _("A user with that username already exists."))]) from None


def _keep_one_admin(user: User) -> None:
    """Refuse to leave the platform without anyone to manage it; the lock is against two at once."""
    admins = User.objects.filter(is_platform_admin=True, is_active=True).order_by("id")
    ids = list(admins.select_for_update(no_key=True).values_list("id", flat=True))
    if ids == [user.pk]:
        raise Conflict(why=_("this is the only active platform admin; make another one first."))


def _record(user: User, action: str, *, actor: User | None, address: str | None, now: datetime) -> None:
    record_audit(
        actor=actor, action=action, object_kind="user", object_id=user.username, address=address, now=now
    )
