"""The world of a job, for tests that need one. Django is set up after this file is loaded: late imports."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.jobs.builders import World


@pytest.fixture
def world(db: None) -> "World":
    """Two teams with their people and queues, and a small cluster that is heard of."""
    from django.core.cache import cache

    from tests.jobs.builders import make_world

    cache.clear()
    return make_world()


@pytest.fixture
def committed_world(transactional_db: None) -> "World":
    """The same, committed: for tests with several sessions."""
    from django.core.cache import cache

    from tests.jobs.builders import make_world

    cache.clear()
    return make_world()
