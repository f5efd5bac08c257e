"""The first platform admin, made once, with the password and a token in a file that only its owner reads."""

import secrets
from datetime import datetime
from pathlib import Path

from accounts.models import User
from accounts.services import create_token, create_user
from portal.data_folder import write_private_json

USERNAME = "admin"


def ensure_admin(file: Path, *, public_url: str, now: datetime) -> User:
    """The platform admin; if there is none, one is made and written into `file`."""
    admin = User.objects.filter(is_platform_admin=True, is_active=True).order_by("pk").first()
    return admin or _make_admin(file, public_url=public_url, now=now)


def _make_admin(file: Path, *, public_url: str, now: datetime) -> User:
    password = secrets.token_urlsafe(15)
    admin = create_user(
        username=USERNAME,
        password=password,
        display_name="Administrator",
        is_platform_admin=True,
        now=now,
    )
    _token, secret = create_token(user=admin, name="first token", expires_at=None, now=now)
    write_private_json(file, {"url": public_url, "username": USERNAME, "password": password, "token": secret})
    return admin
