"""API tokens: shown once, kept as a digest, checked on every request of API and CLI."""

import hashlib
import secrets
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import ApiToken, User
from accounts.services.audit import record_audit
from refusals import Invalid, NotFound, Problem
from refusals.text import name_problem

PREFIX = "glt_"
USE_IS_NOTED_EVERY = timedelta(minutes=1)  # a busy client must not write a row per request


def create_token(
    *, user: User, name: str, expires_at: datetime | None, now: datetime, address: str | None = None
) -> tuple[ApiToken, str]:
    """Make a token; the second part of the answer is the secret, which is never to be had again."""
    _check_token(name, expires_at, now)
    secret = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        token = ApiToken.objects.create(
            user=user,
            name=name,
            prefix=secret[:12],
            digest=_digest(secret),
            created_at=now,
            expires_at=expires_at,
        )
        _record(token, "token_created", address=address, now=now)
    return token, secret


def revoke_token(*, user: User, token_id: UUID, now: datetime, address: str | None = None) -> None:
    """Make one of the user's own tokens useless from now on; `NotFound` for anyone else's."""
    with transaction.atomic():
        token = (
            ApiToken.objects.select_for_update(no_key=True)
            .filter(user=user, id=token_id, revoked_at__isnull=True)
            .first()
        )
        if token is None:
            raise NotFound(kind=_("token"), id=str(token_id))
        token.revoked_at = now
        token.save(update_fields=["revoked_at"])
        _record(token, "token_revoked", address=address, now=now)


def authenticate_token(secret: str, *, now: datetime) -> User | None:
    """The active user whose live token this is, or None."""
    if not secret.startswith(PREFIX):
        return None
    live = ApiToken.objects.filter(revoked_at__isnull=True, user__is_active=True)
    token = (
        live.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now), digest=_digest(secret))
        .select_related("user")
        .first()
    )
    if token is None:
        return None
    _note_use(token, now)
    return token.user


def _note_use(token: ApiToken, now: datetime) -> None:
    if token.last_used_at is None or now - token.last_used_at >= USE_IS_NOTED_EVERY:
        ApiToken.objects.filter(id=token.id).update(last_used_at=now)


def _digest(secret: str) -> str:
    # 256 random bits cannot be guessed, so a plain hash is enough and a slow one would only slow requests.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _check_token(name: str, expires_at: datetime | None, now: datetime) -> None:
    problems = [problem] if (problem := name_problem("name", name, max_length=120)) else []
    if expires_at is not None and expires_at <= now:
        problems.append(Problem("expires_at", _("must be in the future")))
    if problems:
        raise Invalid(details=problems)


def _record(token: ApiToken, action: str, *, address: str | None, now: datetime) -> None:
    data = {"name": token.name, "prefix": token.prefix}
    record_audit(
        actor=token.user,
        action=action,
        object_kind="token",
        object_id=token.id,
        data=data,
        address=address,
        now=now,
    )
