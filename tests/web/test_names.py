"""Names are shown letter for letter and are never markup, a path or a formula (PC09, in the browser)."""

from html import escape

import pytest
from django.test import Client

from jobs.models import Job
from tests.jobs.builders import World
from tests.web.browsing import browser_of, text_of

ACCEPTED = (
    "微调 7B 第一次",
    "实验🚀-Ä",
    "a/../../b",
    "[x] 100% done?#frag",
    "<b onmouseover=alert(1)>n</b>",
    "=1+1",
    "'\"&amp;{{ 7*7 }}{% csrf_token %}",
)
REFUSED = ("好" * 300, "   ", "a\u202eb", "tab\there")


def submit(client: Client, name: str) -> Job | None:
    """Submit by the form; the job, or None where the form came back."""
    fields = {"name": name, "queue": "a", "program": "run", "run": "echo", "source": "form", "spec": ""}
    response = client.post("/jobs/new", fields)
    if response.status_code != 302:
        assert response.status_code == 422
        return None
    return Job.objects.get(id=response.headers["Location"].removeprefix("/jobs/"))


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_name_is_shown_as_it_is_everywhere(world: World, name: str) -> None:
    """In lists, on its page, in the form for a clone: as text."""
    client = browser_of(world.cast.owner)
    job = submit(client, name)
    assert job is not None
    assert job.name == name
    for address in ("/", "/jobs", f"/jobs/{job.id}", "/queues"):
        page = text_of(client.get(address))
        assert escape(name) in page
        assert "<b onmouseover" not in page
    assert f'value="{escape(name)}"' in text_of(client.get(f"/jobs/new?clone={job.id}"))


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_cannot_be_is_refused_with_the_rule(world: World, name: str) -> None:
    """The form comes back with what was typed."""
    client = browser_of(world.cast.owner)
    fields = {"name": name, "queue": "a", "program": "run", "run": "echo", "source": "form", "spec": ""}
    response = client.post("/jobs/new", fields)
    assert response.status_code == 422
    assert 'data-problem="name"' in response.content.decode()
    assert not Job.objects.exists()


def test_two_jobs_may_have_one_name(world: World) -> None:
    """Ids tell them apart, and a search finds both."""
    client = browser_of(world.cast.owner)
    first, second = submit(client, "微调 7B 第一次"), submit(client, "微调 7B 第一次")
    assert first is not None
    assert second is not None
    page = text_of(client.get("/jobs", {"search": "微调"}))
    assert str(first.id) in page
    assert str(second.id) in page


def test_clones_of_clones_keep_their_name(world: World) -> None:
    """Three times in a row, each from the one before."""
    client = browser_of(world.cast.owner)
    job = submit(client, "微调 7B 第一次")
    for _clone in range(3):
        assert job is not None
        page = client.get(f"/jobs/new?clone={job.id}")
        fields = {"source": "yaml", "spec": page.context["draft"].text}
        response = client.post("/jobs/new", fields)
        job = Job.objects.get(id=response.headers["Location"].removeprefix("/jobs/"))
        assert job.name == "微调 7B 第一次"
    assert Job.objects.count() == 4


@pytest.mark.parametrize("search", ["%", "_", "'; --", "100%", "\\", "<b", "🚀", "x" * 5000])
def test_any_search_is_answered(world: World, search: str) -> None:
    """Special characters of the database mean themselves."""
    client = browser_of(world.cast.owner)
    submit(client, "[x] 100% done?#frag")
    page = text_of(client.get("/jobs", {"search": search}))
    assert ("100% done" in page) == (search in ("%", "100%"))


def test_a_job_is_found_by_its_id_or_its_beginning(world: World) -> None:
    """As they are shown in lists and logs."""
    client = browser_of(world.cast.owner)
    job, other = submit(client, "one"), submit(client, "two")
    assert job is not None
    assert other is not None
    for text in (str(job.id), str(job.id)[:8], job.id.hex, str(job.id)[:13].upper()):
        page = text_of(client.get("/jobs", {"search": text}))
        assert str(job.id) in page
        assert str(other.id) not in page
