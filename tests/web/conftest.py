"""What the page tests share. Django is set up after this file is loaded, so it imports late."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.jobs.builders import World


@pytest.fixture
def world(db: None) -> "World":
    """Two teams with their people and queues, and two nodes that were heard of."""
    from django.core.cache import cache

    from tests.jobs.builders import make_world

    cache.clear()
    return make_world()
