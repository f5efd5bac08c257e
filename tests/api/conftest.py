"""The world of a job behind the real addresses. Django is set up after this file is loaded: late imports."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.api.faces import Face


@pytest.fixture
def face(db: None) -> "Face":
    """Everybody of the cast with a REST client, in a small world."""
    from django.core.cache import cache

    from tests.api.faces import Face
    from tests.jobs.builders import make_world

    cache.clear()
    return Face(make_world())


@pytest.fixture
def committed_face(transactional_db: None) -> "Face":
    """The same, committed: for tests with several sessions."""
    from django.core.cache import cache

    from tests.api.faces import Face
    from tests.jobs.builders import make_world

    cache.clear()
    return Face(make_world())
