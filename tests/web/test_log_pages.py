"""The log of one worker: on the page without JavaScript, and as the windows that the viewer asks for."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from artifacts.services import append_stream
from jobs.models import Attempt, Job
from tests.jobs.builders import NOW, World
from tests.web.browsing import browser_of, text_of

MARKUP = '<img src=x onerror=document.title="OWNED">'


@pytest.fixture
def logged(world: World, settings: Any, tmp_path: Path) -> tuple[Job, Attempt]:
    """A running job whose worker has written 5000 lines and begun another."""
    settings.ENV = dataclasses.replace(settings.ENV, data_dir=tmp_path)
    job, attempt = world.running()
    lines = [f"line {number}" for number in range(1, 5001)]
    lines[2] = MARKUP
    body = ("\n".join(lines) + "\nunfini").encode()
    append_stream(
        attempt_id=attempt.id, job_id=job.id, name="rank-0.log", offset=0, body=body, final=False, now=NOW
    )
    return job, attempt


def ask(world: World, job: Job, query: str = "", path: str = "") -> dict[str, Any]:
    """A window as the viewer gets it."""
    response = browser_of(world.cast.viewer).get(f"/jobs/{job.id}/log{path}?{query}")
    assert response.status_code == 200
    found: dict[str, Any] = json.loads(response.content)
    return found


def test_the_page_shows_the_end_of_the_log_by_itself(world: World, logged: tuple[Job, Attempt]) -> None:
    """Readable without JavaScript, at most 2 MiB, and markup is text."""
    page = text_of(browser_of(world.cast.viewer).get(f"/jobs/{logged[0].id}/logs"))
    assert "<li>line 5000</li>" in page
    assert MARKUP not in page
    assert len(page) < 2 * 2**20


def test_the_viewer_walks_from_the_first_line_to_the_end(world: World, logged: tuple[Job, Attempt]) -> None:
    """Every number once."""
    job, offset, line, seen = logged[0], 0, 1, []
    while True:
        window = ask(world, job, f"from={offset}&first_line={line}")
        if window["next_offset"] == offset:
            break
        assert window["first_line"] == line
        seen += window["lines"]
        offset, line = window["next_offset"], line + len(window["lines"])
    assert len(seen) == 5000
    assert seen[2] == MARKUP
    assert window["unfinished"] == "unfini"
    assert window["closed"] is False


def test_the_tail_and_what_is_before_it_fit_together(world: World, logged: tuple[Job, Attempt]) -> None:
    """The tail knows its line numbers; the window before ends where it begins."""
    tail = ask(world, logged[0])
    assert tail["lines"][0] == f"line {tail['first_line']}"
    if tail["offset"]:
        before = ask(world, logged[0], f"before={tail['offset']}&first_line={tail['first_line']}")
        assert before["next_offset"] == tail["offset"]
        assert before["first_line"] + len(before["lines"]) == tail["first_line"]


def test_a_line_is_reached_by_number_and_by_a_word(world: World, logged: tuple[Job, Attempt]) -> None:
    """With some lines above it."""
    window = ask(world, logged[0], "line=3333")
    assert window["first_line"] == 3133
    assert window["lines"][200] == "line 3333"
    hits = ask(world, logged[0], "text=line 4242", path="/search")["hits"]
    assert [(hit["line"], hit["text"]) for hit in hits] == [(4242, "line 4242")]
    assert ask(world, logged[0], "text=", path="/search")["hits"] == []


def test_the_end_of_a_stream_is_told(world: World, logged: tuple[Job, Attempt]) -> None:
    """So the viewer shows the last line and stops asking."""
    job, attempt = logged
    size = ask(world, job)["size"]
    append_stream(
        attempt_id=attempt.id,
        job_id=job.id,
        name="rank-0.log",
        offset=size,
        body=b"shed",
        final=True,
        now=NOW,
    )
    tail = ask(world, job)
    assert tail["closed"] is True
    assert tail["lines"][-1] == "unfinished"
    assert tail["first_line"] + len(tail["lines"]) - 1 == 5001


@pytest.mark.parametrize("query", ["attempt=99", "rank=7", "attempt=1&rank=1"])
def test_a_worker_that_there_is_not_is_not_found(
    world: World, logged: tuple[Job, Attempt], query: str
) -> None:
    """In the viewer and on the page."""
    client = browser_of(world.cast.owner)
    assert client.get(f"/jobs/{logged[0].id}/log?{query}").status_code == 404
    assert client.get(f"/jobs/{logged[0].id}/logs?{query}").status_code == 404


@pytest.mark.parametrize(
    "query", ["from=-1", "from=99999999999999999999", "before=x", "line=0", "line=-5", "from=../.."]
)
def test_numbers_that_mean_nothing_do_no_harm(world: World, logged: tuple[Job, Attempt], query: str) -> None:
    """They are answered with some window or none."""
    ask(world, logged[0], query)


def test_a_job_without_devices_has_no_log_yet(world: World) -> None:
    """And the page says so."""
    job = world.submit()
    assert ask(world, job)["lines"] == []
    page = text_of(browser_of(world.cast.owner).get(f"/jobs/{job.id}/logs"))
    assert "The log begins when the job gets its devices" in page
