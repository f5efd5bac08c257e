"""Who acts in the acceptance tests, and a platform with nothing under way before and after each."""

from collections.abc import Iterator

import httpx
import pytest

from tests.acceptance.acting import clear
from tests.support.platform import LivePlatform


@pytest.fixture
def member(live_platform: LivePlatform) -> Iterator[httpx.Client]:
    """A member of `research`; the team's jobs are gone before and after."""
    with live_platform.client(live_platform.person("member")) as client:
        clear(client)
        yield client
        clear(client)


@pytest.fixture
def admin(live_platform: LivePlatform) -> Iterator[httpx.Client]:
    """The platform admin."""
    with live_platform.client() as client:
        yield client
