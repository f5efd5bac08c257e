"""Whatever goes wrong: a code, a sentence, every detail, what to do, the right exit code, no traceback."""

from pathlib import Path

import pytest

from gangline.answers import TODO_OTHERWISE
from tests.cli.conftest import Command
from tests.cli.recording_portal import Answer, RecordingPortal, refusal

JOB_ID = "0b1e7a52-0000-4000-8000-000000000001"


def test_a_refusal_shows_code_message_every_detail_and_what_to_do(
    gangline: Command, portal: RecordingPortal
) -> None:
    """The paths tell where to change the file; the exit code is 3."""
    details = [
        {"path": "workers", "problem": "must be 1 or more"},
        {"path": "run", "problem": "is required"},
    ]
    portal.on("POST", "jobs", refusal("invalid", "The input has problems.", 422, details=details))
    result = gangline("submit", "name=x")
    assert result.code == 3
    assert result.out == ""
    assert result.err.splitlines() == [
        "invalid: The input has problems.",
        "  workers: must be 1 or more",
        "  run: is required",
        TODO_OTHERWISE,
    ]


@pytest.mark.parametrize(
    ("status", "todo"),
    [(401, "gangline login"), (403, "gangline queues"), (404, "gangline ps -a"), (413, ".ganglineignore")],
)
def test_each_refusal_names_a_next_step(
    gangline: Command, portal: RecordingPortal, status: int, todo: str
) -> None:
    """What helps depends on why it was refused."""
    portal.on("GET", f"jobs/{JOB_ID}", refusal("no", "No.", status))
    result = gangline("show", JOB_ID)
    assert (result.code, todo in result.err) == (3, True)


def test_a_portal_that_is_not_there_is_exit_code_4(gangline: Command, portal: RecordingPortal) -> None:
    """With its address and how to start one."""
    portal.stop()
    result = gangline("--wait", "0", "ps")
    assert result.code == 4
    assert portal.url in result.err
    assert "gangline up" in result.err


def test_a_defect_of_the_portal_is_exit_code_4_with_the_request_id(
    gangline: Command, portal: RecordingPortal
) -> None:
    """So that its operator finds the trace."""
    portal.on("GET", "me", refusal("internal", "Something broke.", 500, request_id="r-77"))
    result = gangline("whoami")
    assert (result.code, "r-77" in result.err) == (4, True)


def test_something_else_at_the_address_is_told_apart_from_a_refusal(
    gangline: Command, portal: RecordingPortal
) -> None:
    """A web page with 200 or 404 is no answer of a portal."""
    portal.on("GET", "me", Answer(b"<html>hello</html>"), Answer(b"<html>gone</html>", 404))
    assert gangline("whoami").code == 4
    assert gangline("whoami").code == 4


def test_a_redirect_is_never_followed_with_the_token(gangline: Command, portal: RecordingPortal) -> None:
    """It could lead anywhere."""
    portal.on("GET", "me", Answer({}, 302, {"Location": "http://elsewhere.example/"}))
    result = gangline("whoami")
    assert (result.code, "http://elsewhere.example/" in result.err) == (4, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["ps", "--no-such-option"],
        ["no-such-command"],
        ["submit"],
        ["submit", "workers"],
        ["submit", "-f", "/no/such/file.yaml"],
        ["logs", JOB_ID, "--rank", "first"],
        ["quota", "set", "vision"],
        ["quota", "set", "vision", "--limit", "many"],
    ],
)
def test_bad_usage_is_exit_code_2_and_asks_the_portal_nothing(
    gangline: Command, portal: RecordingPortal, arguments: list[str]
) -> None:
    """Also for options and commands that do not exist."""
    result = gangline(*arguments)
    assert (result.code, portal.requests) == (2, [])
    assert result.err


def test_a_job_file_that_is_no_yaml_is_bad_usage(gangline: Command, tmp_path: Path) -> None:
    """With the place of the mistake."""
    file = tmp_path / "job.yaml"
    file.write_text("name: [unclosed\nqueue: x\n")
    result = gangline("submit", "-f", str(file))
    assert (result.code, "line 2" in result.err) == (2, True)


def test_a_defect_of_ours_is_a_message_and_not_a_traceback(
    gangline: Command, portal: RecordingPortal
) -> None:
    """An answer that breaks the contract makes us fail; the user gets words and an exit code of its own."""
    portal.on("GET", "me", {"unexpected": True})
    result = gangline("whoami")
    assert result.code == 70
    assert "GANGLINE_DEBUG=1" in result.err
    assert "Traceback" not in result.err


def test_control_characters_of_the_server_do_not_reach_the_terminal(
    gangline: Command, portal: RecordingPortal
) -> None:
    """A job's name could move the cursor or set the window's title."""
    portal.on("GET", "me", refusal("no", "bad \x1b]0;owned\x07 name", 404))
    assert "\x1b" not in gangline("whoami").err
