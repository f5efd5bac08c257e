"""The list of jobs: filters, counts, pages."""

import pytest

from jobs.lifecycle import State
from tests.jobs.builders import World, force_state
from tests.web.browsing import browser_of, part_of, text_of


def test_states_are_counted_and_chosen(world: World) -> None:
    """The count of each choice stays right whichever is chosen."""
    world.running(name="runs")
    for state in (State.FAILED, State.CANCELLED, State.SUCCEEDED, State.HELD):
        force_state(world.submit(name=f"is-{state}"), state)
    response = browser_of(world.cast.owner).get("/jobs", {"show": "failed"})
    counts = {show["name"]: show["count"] for show in response.context["shows"]}
    expected = {"all": 5, "waiting": 1, "running": 1, "succeeded": 1, "failed": 1, "cancelled": 1}
    assert counts == expected
    assert [row.job.name for row in response.context["rows"]] == ["is-failed"]


def test_filters_add_up(world: World) -> None:
    """Owner, queue, team and search at once."""
    world.submit(name="mine-one")
    world.submit(name="mine-two")
    client = browser_of(world.cast.teammate)
    query = {"owner": "owner", "queue": "a", "team": "team-a", "search": "two"}
    assert [row.job.name for row in client.get("/jobs", query).context["rows"]] == ["mine-two"]
    assert client.get("/jobs", {**query, "mine": "1"}).context["rows"] == []


@pytest.mark.parametrize(
    "query", ["show=nonsense", "page=0", "page=999", "page=x", "team=none", "queue=%2e%2e"]
)
def test_a_query_that_means_nothing_is_no_error(world: World, query: str) -> None:
    """Old bookmarks and typing mistakes."""
    world.submit()
    text_of(browser_of(world.cast.owner).get(f"/jobs?{query}"))


def test_pages_hold_forty_jobs_and_keep_the_filter(world: World) -> None:
    """The next page is a link."""
    for number in range(45):
        world.submit(name=f"job-{number:02}")
    client = browser_of(world.cast.owner)
    first = text_of(client.get("/jobs", {"search": "job"}))
    assert "1–40 of 45" in first
    assert "search=job&amp;page=2" in first
    second = client.get("/jobs", {"search": "job", "page": "2"})
    assert len(second.context["rows"]) == 5


def test_the_refreshed_table_asks_for_itself_again(world: World) -> None:
    """With the filter that it was asked with."""
    part = part_of(browser_of(world.cast.owner), "/jobs?show=running&search=x")
    assert 'hx-get="/jobs?show=running&amp;search=x"' in part


def test_an_empty_list_says_how_to_begin(world: World) -> None:
    """And an empty filter how to get out of it."""
    client = browser_of(world.cast.owner)
    assert "Submit the first job" in text_of(client.get("/jobs"))
    assert "No job matches" in text_of(client.get("/jobs", {"search": "nothing"}))
