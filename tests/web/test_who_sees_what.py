"""Another team's job is not there; a role that may not act has no button and is refused."""

import pytest

from jobs.lifecycle import State
from jobs.models import Job
from jobs.views.detail import TABS
from tests.jobs.builders import World, fresh
from tests.web.browsing import browser_of, text_of

ACTS = ("cancel", "hold", "release", "priority", "delete")
TAB_PATHS = ["", *(f"/{tab}" for tab in TABS if tab != "overview"), "/log", "/log/search?text=x"]


@pytest.mark.parametrize("path", TAB_PATHS)
def test_another_teams_job_is_not_there(world: World, path: str) -> None:
    """The same answer as for an id that nobody has."""
    job, _attempt = world.running(name="secret-name")
    client = browser_of(world.cast.outsider)
    theirs = client.get(f"/jobs/{job.id}{path}")
    nobodys = client.get(f"/jobs/{world.cast.team_a.id}{path}")
    assert theirs.status_code == nobodys.status_code == 404
    assert "secret-name" not in theirs.content.decode()


@pytest.mark.parametrize("act", ACTS)
def test_nobody_acts_on_another_teams_job(world: World, act: str) -> None:
    """And nothing changes."""
    job, _attempt = world.running()
    before = fresh(job).version
    response = browser_of(world.cast.outsider).post(f"/jobs/{job.id}/{act}", {"priority": "1"})
    assert response.status_code == 404
    assert fresh(job).version == before


@pytest.mark.parametrize("address", ["/", "/jobs", "/jobs?search=secret", "/queues", "/cluster"])
def test_lists_are_silent_about_other_teams(world: World, address: str) -> None:
    """Not even the name; the map only says that a device is in use."""
    job, _attempt = world.running(name="secret-name")
    page = text_of(browser_of(world.cast.outsider).get(address))
    assert "secret-name" not in page
    assert str(job.id) not in page


def test_the_map_shows_devices_of_other_teams_as_used(world: World) -> None:
    """Their number, and nothing about whose."""
    world.running()
    page = text_of(browser_of(world.cast.outsider).get("/cluster"))
    assert page.count("slot hidden-job") == 4
    assert "Other teams" in page


def test_a_viewer_has_no_buttons_and_is_refused(world: World) -> None:
    """They see everything and change nothing."""
    job, _attempt = world.running()
    client = browser_of(world.cast.viewer)
    page = text_of(client.get(f"/jobs/{job.id}"))
    assert 'data-opens="cancel-dialog"' not in page
    assert f"/jobs/new?clone={job.id}" not in page
    for act in ACTS:
        assert client.post(f"/jobs/{job.id}/{act}", {"priority": "1"}).status_code == 403
    assert fresh(job).state == State.RUNNING
    assert "You cannot submit yet" in text_of(client.get("/jobs/new"))


def test_a_member_manages_their_own_jobs_only(world: World) -> None:
    """The owner has the buttons, a teammate may only clone, the team's admin has them too."""
    job, _attempt = world.running()
    button = 'data-opens="cancel-dialog"'
    assert button in text_of(browser_of(world.cast.owner).get(f"/jobs/{job.id}"))
    assert button in text_of(browser_of(world.cast.team_admin).get(f"/jobs/{job.id}"))
    teammates = browser_of(world.cast.teammate)
    page = text_of(teammates.get(f"/jobs/{job.id}"))
    assert button not in page
    assert f"/jobs/new?clone={job.id}" in page
    assert teammates.post(f"/jobs/{job.id}/cancel").status_code == 403


def test_the_owner_cancels_and_sees_it_stopping(world: World) -> None:
    """A second click changes nothing and is no error."""
    job, _attempt = world.running()
    client = browser_of(world.cast.owner)
    for _click in range(2):
        response = client.post(f"/jobs/{job.id}/cancel", follow=True)
        assert response.redirect_chain == [(f"/jobs/{job.id}", 302)]
    assert fresh(job).state == State.STOPPING
    assert "It is already stopping." in response.content.decode()


def test_hold_release_priority_and_delete(world: World) -> None:
    """One after another, as a person would."""
    job = world.submit()
    client = browser_of(world.cast.owner)
    client.post(f"/jobs/{job.id}/hold")
    assert fresh(job).state == State.HELD
    client.post(f"/jobs/{job.id}/release")
    assert fresh(job).state == State.QUEUED
    client.post(f"/jobs/{job.id}/priority", {"priority": "300"})
    assert fresh(job).priority == 300
    refused = client.post(f"/jobs/{job.id}/priority", {"priority": "1000"}, follow=True)
    assert "above 400" in refused.content.decode()
    words = client.post(f"/jobs/{job.id}/priority", {"priority": "much"}, follow=True)
    assert "whole number" in words.content.decode()
    assert fresh(job).priority == 300
    client.post(f"/jobs/{job.id}/cancel")
    assert client.post(f"/jobs/{job.id}/delete").headers["Location"] == "/jobs"
    assert Job.objects.get(id=job.id).deleted_at is not None
    assert client.get(f"/jobs/{job.id}").status_code == 404


@pytest.mark.parametrize("address", ["/", "/jobs", "/jobs/new", "/queues", "/cluster", "/profile"])
def test_nobody_sees_anything_without_logging_in(world: World, address: str) -> None:
    """They are sent to the log-in page, and from there on to where they wanted."""
    response = browser_of(None).get(address)
    assert response.status_code == 302
    assert response.headers["Location"] == f"/login?next={address}"


def test_changing_by_a_mere_link_is_impossible(world: World) -> None:
    """GET changes nothing."""
    job, _attempt = world.running()
    client = browser_of(world.cast.owner)
    for act in ACTS:
        assert client.get(f"/jobs/{job.id}/{act}").status_code == 405
    assert fresh(job).state == State.RUNNING
