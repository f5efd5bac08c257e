"""A real browser for end-to-end tests: Chromium of the system, driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.support.platform import LivePlatform, Person

ARGUMENTS = (
    "--no-sandbox",  # a container has no user namespaces for Chromium's own
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS = 60_000
# Chromium reports these itself where an answer is a refusal that a test asks for, or a page is left.
EXPECTED = ("the server responded with a status of 422", "htmx:sendAbort", "htmx:afterRequest", "ERR_ABORTED")


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Chromium from GANGLINE_TEST_CHROMIUM or the path."""
    path = os.environ.get("GANGLINE_TEST_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


class Visitor:
    """Somebody in front of a browser, and what its console complained about."""

    def __init__(self, browser: Browser, platform: LivePlatform, **options: Any) -> None:
        self.platform = platform
        self.context: BrowserContext = browser.new_context(timezone_id="Asia/Shanghai", **options)
        self.context.set_default_timeout(PATIENCE_MS)
        self.complaints: list[str] = []
        self.page = self.open_page()

    def open_page(self) -> Page:
        """One more tab."""
        page = self.context.new_page()
        page.on("console", self._listen)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        return page

    def log_in(self, person: Person) -> None:
        """By the form, as people do."""
        self.page.goto(f"{self.platform.url}/login")
        self.page.fill("#username", person.username)
        self.page.fill("#password", person.password)
        self.page.click(".door-card button[type=submit]")
        self.page.wait_for_url(f"{self.platform.url}/")
        if self.page.get_attribute("html", "lang") != "en":  # the account remembers an earlier test's choice
            self.page.click("button[name=language]")
            self.page.wait_for_selector("html[lang=en]")

    def open(self, path: str) -> Page:
        """Go to a page of the portal."""
        self.page.goto(self.platform.url + path)
        return self.page

    def submit(self, document: str) -> str:
        """Submit a job file by the form; the new job's id."""
        page = self.open("/jobs/new")
        page.fill("#spec", document)
        page.wait_for_selector("#checked .tone-succeeded, #checked .tone-queued")
        page.click("#submit-button")
        page.wait_for_url("**/jobs/*-*-*-*-*")
        return page.url.rsplit("/", 1)[1]

    def wait_state(self, *words: str) -> None:
        """Until the job's page says one of these, by itself."""
        choice = ", ".join(f".job-head .pill:has-text('{word}')" for word in words)
        self.page.wait_for_selector(choice)

    def close(self) -> None:
        """Leave; every complaint of the console is a failure."""
        self.context.close()
        assert not self.complaints, self.complaints

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(known in message.text for known in EXPECTED):
            self.complaints.append(message.text)
