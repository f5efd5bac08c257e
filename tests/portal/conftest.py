"""A small world with its people, as tokens in a browser's or a program's hand."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.utils import timezone

from accounts.models import User
from accounts.services import create_token
from tests.jobs.builders import World, make_world


@pytest.fixture
def world(db: None) -> World:
    """Two teams with a queue each."""
    cache.clear()
    return make_world()


@pytest.fixture
def committed_world(transactional_db: None) -> World:
    """The same, committed: for tests with several sessions."""
    cache.clear()
    return make_world()


def bearer(user: User) -> dict[str, str]:
    """The header that shows a token of this user."""
    now = timezone.now()
    _token, secret = create_token(user=user, name="test", expires_at=now + timedelta(days=1), now=now)
    return {"Authorization": f"Bearer {secret}"}
