"""The portal in a real browser against the whole running platform."""

import re
import uuid
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browsing import PATIENCE_MS, Visitor
from tests.support.platform import LivePlatform, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

TRAINING = """
name: 微调 in a browser
queue: research
workers: 2
resources: {accelerators: 1}
recipe: gpt-pretrain
params: {steps: 5000, layers: 2, hidden: 64, global_batch: 16, micro_batch: 8}
"""
TALKING = """
name: talks
queue: research
resources: {accelerators: 1}
run: |
  python3 - <<'PY'
  import sys, time
  sys.stdout.write("<img src=x onerror=document.title='OWNED'>\\n")
  for number in range(2, 60_001):
      word = " NEEDLE-42" if number == 40_003 else ""
      sys.stdout.write(f"line {number}{word}\\n")
  sys.stdout.flush()
  time.sleep(600)
  PY
"""


def last_step(visitor: Visitor) -> int:
    """The newest step on the drawn loss curve."""
    return int(visitor.page.locator("[data-chart=loss]").get_attribute("data-last-step") or 0)


def test_log_in_submit_watch_the_curve_move_and_cancel(visitor: Visitor) -> None:
    """The whole way of a job as its owner sees it, without a reload."""
    visitor.submit(TRAINING)
    visitor.wait_state("Running")
    page = visitor.page
    expect(page.locator("[data-chart=loss] canvas")).to_be_visible(timeout=PATIENCE_MS)
    first = wait_until(lambda: last_step(visitor), seconds=60, what="the curve is drawn")
    wait_until(lambda: last_step(visitor) > first + 5, seconds=60, what="the curve moves")
    lines = int(page.locator("#log").get_attribute("data-lines") or 0)
    assert lines > 0
    wait_until(
        lambda: int(page.locator("#log").get_attribute("data-lines") or 0) > lines,
        seconds=60,
        what="log lines arrive",
    )
    expect(page.locator("[data-figure=loss]")).to_be_visible()
    page.click("[data-opens=cancel-dialog]")
    page.click("#cancel-dialog .primary")
    visitor.wait_state("Stopping", "Cancelled")
    visitor.wait_state("Cancelled")
    expect(page.locator("#job-stages")).to_contain_text("Cancelled by")


def test_a_double_click_and_a_reload_leave_one_job(visitor: Visitor) -> None:
    """Also when the browser really sends the form twice."""
    name = f"clicked twice {uuid.uuid4()}"
    page = visitor.open("/jobs/new")
    page.fill("#spec", f"name: {name}\nqueue: research\nworkers: 1\nrun: sleep 600\n")
    page.wait_for_selector("#checked .tone-succeeded, #checked .tone-queued")
    # Switch the page's own guard off: what is tested is the submission key.
    page.evaluate("document.addEventListener('submit', (event) => event.stopImmediatePropagation(), true)")
    page.dblclick("#submit-button")
    page.wait_for_url("**/jobs/*-*-*-*-*")
    page.reload()
    visitor.open(f"/jobs?search={name}")
    expect(page.locator("#jobs tbody tr")).to_have_count(1)


def test_form_and_job_file_follow_each_other(visitor: Visitor) -> None:
    """And every problem is shown at its field while one types."""
    page = visitor.open("/jobs/new")
    page.fill("#f-workers", "3")
    expect(page.locator("#spec")).to_have_value(re.compile("workers: 3"))
    page.fill("#f-memory", "8 bits")
    expect(page.locator("[data-error-for='resources.memory']")).to_contain_text("8GiB")
    expect(page.locator("#f-memory")).to_have_attribute("aria-invalid", "true")
    page.fill("#spec", "name: by hand\nqueue: research\nrun: echo\nworkers: 7\n")
    expect(page.locator("#f-workers")).to_have_value("7")
    expect(page.locator("#f-name")).to_have_value("by hand")
    expect(page.locator("#f-run")).to_be_visible()
    page.fill("#spec", "name: [")
    expect(page.locator("#checked")).to_contain_text("line 1, column 8")
    expect(page.locator("#f-name")).to_have_value("by hand")


def test_a_long_log_stays_in_bounds_and_every_line_can_be_reached(visitor: Visitor, tmp_path: Path) -> None:
    """First line, last line, a line found by a word; markup is text; the download is all of it."""
    visitor.submit(TALKING)
    visitor.wait_state("Running")
    page = visitor.page
    page.goto(page.url + "/logs")
    view = page.locator("[data-log-lines]")
    expect(view.locator("li[data-line='60000']")).to_have_text("line 60000", timeout=PATIENCE_MS)
    page.click("[data-log-first]")
    expect(view.locator("li[data-line='1']")).to_have_text("<img src=x onerror=document.title='OWNED'>")
    page.fill("[data-log-search] input", "NEEDLE-42")
    page.press("[data-log-search] input", "Enter")
    expect(page.locator("[data-log-hits] button")).to_contain_text("line 40003 NEEDLE-42")
    expect(view.locator("li[data-line='40003']")).to_be_in_viewport()
    for _notch in range(60):
        page.locator("[data-log-view]").evaluate("view => { view.scrollTop = view.scrollHeight; }")
        page.wait_for_timeout(20)
    numbers = [
        int(row) for row in view.locator("li").evaluate_all("rows => rows.map((row) => row.dataset.line)")
    ]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert len(numbers) <= 20_000
    assert "OWNED" not in page.title()
    with page.expect_download() as download:
        page.locator("[data-log-download]").evaluate("link => { link.download = 'log.txt'; link.click(); }")
    download.value.save_as(tmp_path / "log.txt")
    lines = (tmp_path / "log.txt").read_text().splitlines()
    assert (len(lines), lines[-1]) == (60_000, "line 60000")


def test_lists_refresh_by_themselves(visitor: Visitor) -> None:
    """A job that is submitted elsewhere appears, and changes its state, without a click."""
    page = visitor.open("/jobs?show=all")
    expect(page.locator(".live")).to_have_attribute("data-on", "true")
    with visitor.platform.client(visitor.platform.person("member")) as client:
        body = {"name": "from elsewhere", "queue": "research", "run": "sleep 600"}
        job = client.post("jobs", json=body).raise_for_status().json()
        row = page.locator(f"tr[data-href='/jobs/{job['id']}']")
        expect(row).to_contain_text("Running", timeout=PATIENCE_MS)
        client.post(f"jobs/{job['id']}/cancel")
    expect(row).to_contain_text("Cancelled", timeout=PATIENCE_MS)


def test_the_map_shows_the_job_on_its_device(visitor: Visitor) -> None:
    """And the queue page what it uses."""
    visitor.submit("name: on the map\nqueue: research\nresources: {accelerators: 4}\nrun: sleep 600\n")
    visitor.wait_state("Running")
    page = visitor.open("/cluster")
    expect(page.locator(".node")).to_have_count(4)
    expect(page.locator(".slot a[title*='on the map']")).to_have_count(4)
    visitor.open("/queues")
    expect(page.locator(".queue-row", has_text="research").first).to_contain_text("4")


def test_a_team_admin_divides_the_quota_in_a_dialog(browser: Browser, live_platform: LivePlatform) -> None:
    """It can be left and opened again; a wrong number comes back at its field."""
    admin = Visitor(browser, live_platform)
    admin.log_in(live_platform.person("team_admin"))
    page = admin.open("/queues")
    edit = page.locator("a[href='/queues/research/nlp/quota']")
    edit.click()
    page.click("#quota-dialog [data-closes]")
    expect(page.locator("#quota-dialog")).to_be_hidden()
    edit.click()
    page.fill("#q-guarantee", "999")
    page.click("#quota-dialog .primary")
    expect(page.locator("#q-guarantee")).to_have_attribute("aria-invalid", "true")
    page.fill("#q-guarantee", "0")
    page.fill("#q-weight", "2")
    page.click("#quota-dialog .primary")
    expect(page.locator("#toasts")).to_contain_text("The quota of research/nlp was changed.")
    admin.close()


def test_chinese_and_dark_are_one_click_away(visitor: Visitor) -> None:
    """And stay on the next page."""
    page = visitor.open("/jobs")
    page.click("button[name=language]")
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(page.locator("h1")).to_have_text("作业")
    page.click("button[name=theme]")
    page.click("button[name=theme]")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    visitor.open("/queues")
    expect(page.locator("h1")).to_have_text("队列")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(11, 13, 17)"
    page.click("button[name=language]")
    expect(page.locator("h1")).to_have_text("Queues")


def test_every_page_reads_without_javascript(browser: Browser, visitor: Visitor) -> None:
    """The log's end and the curve are in the page itself."""
    job_id = visitor.submit(TRAINING)
    visitor.wait_state("Running")
    wait_until(lambda: last_step(visitor) > 3, seconds=60, what="the curve is drawn")
    plain = Visitor(browser, visitor.platform, java_script_enabled=False)
    plain.log_in(visitor.platform.person("viewer"))
    for path in ("/", "/jobs", "/queues", "/cluster"):
        plain.open(path)
        expect(plain.page.locator("h1")).to_be_visible()
    plain.open(f"/jobs/{job_id}")
    expect(plain.page.locator(".curve polyline")).to_be_visible()
    assert plain.page.locator("[data-log-lines] li").count() > 0
    plain.close()


def test_the_keyboard_reaches_everything(visitor: Visitor) -> None:
    """The first stop leads past the navigation; a dialog opens and closes by keys."""
    visitor.submit("name: by keys\nqueue: research\nrun: sleep 600\n")
    page = visitor.page
    page.reload()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    button = page.locator("[data-opens=cancel-dialog]")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#cancel-dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#cancel-dialog")).to_be_hidden()


def test_another_teams_job_is_not_there(
    browser: Browser, visitor: Visitor, live_platform: LivePlatform
) -> None:
    """A member of `product` who has the address."""
    job_id = visitor.submit("name: ours\nqueue: research\nrun: sleep 600\n")
    stranger = Visitor(browser, live_platform)
    stranger.log_in(live_platform.person("member", team="product"))
    answer = stranger.page.goto(f"{live_platform.url}/jobs/{job_id}")
    assert answer is not None
    assert answer.status == 404
    stranger.complaints = [text for text in stranger.complaints if "404" not in text]
    stranger.close()
