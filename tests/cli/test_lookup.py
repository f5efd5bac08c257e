"""Which job is meant: never the wrong one."""

import pytest

from tests.cli.conftest import Command
from tests.cli.recording_portal import RecordingPortal, job, page

FIRST = job(id="0b1e7a52-0000-4000-8000-000000000001", name="微调 7B 第一次")
SECOND = job(id="0b1e9999-0000-4000-8000-000000000002", name="微调 7B 第一次", state="running")
OTHER = job(id="77777777-0000-4000-8000-000000000003", name="微调 7B 第一次 再来")


def test_a_name_of_two_jobs_lists_their_ids_and_does_nothing(
    gangline: Command, portal: RecordingPortal
) -> None:
    """Rather than picking one."""
    portal.on("GET", "jobs", page(FIRST, SECOND, OTHER))
    result = gangline("cancel", "微调 7B 第一次")
    assert result.code == 2
    assert FIRST["id"] in result.err
    assert SECOND["id"] in result.err
    assert OTHER["id"] not in result.err
    assert [seen.method for seen in portal.requests] == ["GET"]


def test_the_beginning_of_an_id_is_enough_if_only_one_begins_so(
    gangline: Command, portal: RecordingPortal
) -> None:
    """As short as four characters."""
    portal.on("GET", "jobs", page(FIRST, SECOND))
    portal.on("POST", f"jobs/{SECOND['id']}/cancel", SECOND)
    assert gangline("cancel", "0b1e9").code == 0
    assert gangline("cancel", "0b1e").code == 2


def test_a_name_that_only_contains_the_text_is_not_meant(gangline: Command, portal: RecordingPortal) -> None:
    """The portal's search is wider than what a command may act on."""
    portal.on("GET", "jobs", page(OTHER))
    result = gangline("hold", "微调")
    assert (result.code, [seen.method for seen in portal.requests]) == (3, ["GET"])


def test_a_whole_id_is_used_without_a_search(gangline: Command, portal: RecordingPortal) -> None:
    """Also when a job of that name exists."""
    portal.on("POST", f"jobs/{FIRST['id']}/release", FIRST)
    assert gangline("release", FIRST["id"].upper()).code == 0
    assert len(portal.requests) == 1


@pytest.mark.parametrize("verb", ["cancel", "hold", "release"])
def test_one_wrong_reference_of_several_stops_all(
    gangline: Command, portal: RecordingPortal, verb: str
) -> None:
    """Half an order is worse than none."""
    portal.on("GET", "jobs", page(OTHER))
    result = gangline(verb, FIRST["id"], "no such job")
    assert result.code == 3
    assert [seen for seen in portal.requests if seen.method == "POST"] == []


def test_the_same_job_named_twice_is_ordered_once(gangline: Command, portal: RecordingPortal) -> None:
    """By id and by name."""
    portal.on("GET", "jobs", page(OTHER))
    portal.on("POST", f"jobs/{OTHER['id']}/cancel", OTHER)
    assert gangline("cancel", OTHER["id"], OTHER["name"]).code == 0
    assert len(portal.of("POST", f"jobs/{OTHER['id']}/cancel")) == 1


def test_what_the_portal_remarks_is_told(gangline: Command, portal: RecordingPortal) -> None:
    """On standard error: the table stays a table."""
    notice = {**OTHER, "notice": "It is already stopping."}
    portal.on("POST", f"jobs/{OTHER['id']}/cancel", notice)
    result = gangline("cancel", OTHER["id"], "-o", "name")
    assert (result.out, "It is already stopping." in result.err) == (f"{OTHER['id']}\n", True)
