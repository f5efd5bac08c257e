"""PC09: names of any kind, letter for letter everywhere, or refused with the rule."""

import pytest

from eventlog.models import Command
from jobs.models import Job
from tests.api.faces import Face
from tests.jobs.builders import document

ACCEPTED = [
    "微调 7B 第一次",
    "微调 7B 第一次",
    "实验🚀-Ä",
    "a/../../b",
    "[x] 100% done?#frag",
    "<b onmouseover=alert(1)>n</b>",
    "=1+1",
    "'; DROP TABLE jobs_job; --",
    "%(name)s {name} $HOME",
]
REFUSED = ["字" * 300, "   ", "", "a\x00b", "a\nb", "\ud800", "\u202e"]


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_name_is_shown_letter_for_letter(face: Face, name: str) -> None:
    """In the answer, in detail, list, events and the document; and found by search."""
    job = face.submit(name=name)
    assert job["name"] == name
    assert face.get(f"jobs/{job['id']}").json()["spec"]["name"] == name
    assert face.get("jobs", search=name[:3]).json()["results"][0]["name"] == name
    assert face.get(f"jobs/{job['id']}/events").json()["results"][0]["data"]["name"] == name


@pytest.mark.parametrize("name", REFUSED, ids=range(len(REFUSED)))
def test_a_name_that_cannot_be_shown_is_422_with_the_rule(face: Face, name: str) -> None:
    """Never a 500, and nothing is stored."""
    answer = face.post("jobs", document(name=name))
    assert (answer.status_code, [detail["path"] for detail in answer.json()["details"]]) == (422, ["name"])
    assert answer.json()["details"][0]["problem"]
    assert not Job.objects.exists()


def test_equal_names_are_two_jobs(face: Face) -> None:
    """The first is untouched when the second comes; both are found."""
    first, second = face.submit(), face.submit()
    assert first["id"] != second["id"]
    assert face.get(f"jobs/{first['id']}").json()["state"] == "queued"
    assert len(face.get("jobs", search="微调").json()["results"]) == 2


def test_no_name_becomes_a_path(face: Face) -> None:
    """What a job gets on disk is named by its id."""
    job = face.submit(name="a/../../b")
    attempt = face.world.place(Job.objects.get(id=job["id"]))
    launch = Command.objects.get(attempt_id=attempt.id).payload
    assert launch["checkpoint_dir"].endswith(job["id"])
    assert ".." not in launch["checkpoint_dir"]
