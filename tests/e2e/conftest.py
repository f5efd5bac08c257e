"""A browser for all tests here, and a member of the demo's team in it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.platform import LivePlatform

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.e2e.browsing import Visitor


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """One Chromium for the run."""
    from tests.e2e.browsing import running_browser

    with running_browser() as running:
        yield running


@pytest.fixture
def visitor(browser: "Browser", live_platform: LivePlatform) -> "Iterator[Visitor]":
    """A member of `research`, logged in; their jobs are cancelled afterwards."""
    from tests.e2e.browsing import Visitor

    person = live_platform.person("member")
    visitor = Visitor(browser, live_platform)
    visitor.log_in(person)
    yield visitor
    with live_platform.client(person) as client:
        for state in ("queued", "held", "starting", "running"):
            for job in client.get("jobs", params={"state": state, "mine": "1"}).json()["results"]:
                client.post(f"jobs/{job['id']}/cancel")
    visitor.close()
