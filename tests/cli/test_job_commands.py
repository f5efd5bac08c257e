"""Commands about one job: show, explain, clone, priority, outputs, checkpoints."""

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.recording_portal import Answer, RecordingPortal, job, page

JOB_ID = job()["id"]
RESULT = {
    "id": "o1",
    "path": "结果/一.txt",
    "size_bytes": 5,
    "sha256": "ab",
    "created_at": "2026-11-30T10:00:00Z",
}


def test_show_tells_state_attempts_and_history(gangline: Command, portal: RecordingPortal) -> None:
    """In one answer."""
    placement = [{"rank": 0, "node": "n1", "devices": [0]}, {"rank": 1, "node": "n2", "devices": [3]}]
    attempt = {
        "number": 1,
        "placement": placement,
        "running_at": "2026-11-30T10:00:00Z",
        "ended_at": "2026-11-30T10:05:00Z",
        "end_cause": "node_lost",
        "exit_code": None,
        "message": "n2 does not answer",
        "resumed_step": None,
    }
    ended = job(
        state="failed", cause="node_lost", summary={"loss_first": 3.0, "loss_last": 2.0, "mfu": 0.123}
    )
    portal.on("GET", f"jobs/{JOB_ID}", ended)
    portal.on("GET", f"jobs/{JOB_ID}/attempts", page(attempt))
    event = {"seq": 1, "kind": "submitted", "at": "2026-11-30T10:00:00Z", "text": "wei submitted it."}
    portal.on("GET", f"jobs/{JOB_ID}/events", page(event))
    out = gangline("show", JOB_ID).out
    for text in (
        "node_lost",
        "n1, n2",
        "n2 does not answer",
        "loss 3.0000 to 2.0000, MFU 12.30 %",
        "wei submitted it.",
    ):
        assert text in out


def test_explain_tells_why_in_numbers_and_what_helps(gangline: Command, portal: RecordingPortal) -> None:
    """As the portal words it."""
    answer = {
        "state": "queued",
        "reason": {"code": "over_limit", "params": {}, "text": "4 of 4 used.", "help": "Wait for job a."},
        "ahead": 2,
        "queue": {"path": "vision", "used": 4.0, "guarantee": 2.0, "limit": 4.0},
    }
    portal.on("GET", f"jobs/{JOB_ID}/explain", answer)
    out = gangline("explain", JOB_ID).out
    for text in ("4 of 4 used.", "Wait for job a.", "vision: 4 used, guarantee 2, limit 4"):
        assert text in out


def test_a_clone_is_a_new_job(gangline: Command, portal: RecordingPortal) -> None:
    """Its id is told."""
    new_id = "77777777-0000-4000-8000-000000000009"
    portal.on("POST", f"jobs/{JOB_ID}/clone", Answer(job(id=new_id), 201))
    assert gangline("clone", JOB_ID, "-o", "name").out == f"{new_id}\n"


@pytest.mark.parametrize(("given", "sent"), [("urgent", "urgent"), ("250", 250)])
def test_a_priority_is_a_name_or_a_number(
    gangline: Command, portal: RecordingPortal, given: str, sent: str | int
) -> None:
    """As in the job file."""
    portal.on("PATCH", f"jobs/{JOB_ID}", job())
    assert gangline("priority", JOB_ID, given).code == 0
    assert portal.requests[-1].json() == {"priority": sent}


def test_outputs_keep_their_exact_names(gangline: Command, portal: RecordingPortal, tmp_path: Path) -> None:
    """Folders are made, other alphabets stay."""
    portal.on("GET", f"jobs/{JOB_ID}/outputs", page(RESULT))
    portal.on("GET", f"jobs/{JOB_ID}/outputs/o1", Answer(b"hello"))
    assert gangline("outputs", "get", JOB_ID, "--to", str(tmp_path / "out")).code == 0
    assert (tmp_path / "out" / "结果" / "一.txt").read_bytes() == b"hello"
    assert [path.name for path in (tmp_path / "out" / "结果").iterdir()] == ["一.txt"]


def test_a_file_that_is_there_is_not_replaced_unasked(
    gangline: Command, portal: RecordingPortal, tmp_path: Path
) -> None:
    """Nothing is fetched at all."""
    (tmp_path / "结果").mkdir()
    (tmp_path / "结果" / "一.txt").write_text("mine")
    portal.on("GET", f"jobs/{JOB_ID}/outputs", page(RESULT))
    portal.on("GET", f"jobs/{JOB_ID}/outputs/o1", Answer(b"hello"))
    assert gangline("outputs", "get", JOB_ID, "--to", str(tmp_path)).code == 2
    assert (tmp_path / "结果" / "一.txt").read_text() == "mine"
    assert gangline("outputs", "get", JOB_ID, "--to", str(tmp_path), "--overwrite").code == 0
    assert (tmp_path / "结果" / "一.txt").read_text() == "hello"


@pytest.mark.parametrize("path", ["../evil", "/tmp/evil", "a/../../evil", ""])
def test_an_output_never_leaves_the_chosen_folder(
    gangline: Command, portal: RecordingPortal, tmp_path: Path, path: str
) -> None:
    """Whatever a portal says that its name is."""
    portal.on("GET", f"jobs/{JOB_ID}/outputs", page({**RESULT, "path": path}))
    assert gangline("outputs", "get", JOB_ID, "--to", str(tmp_path / "out")).code == 2
    assert not (tmp_path / "out").exists()


def test_an_output_that_is_not_there_is_named(gangline: Command, portal: RecordingPortal) -> None:
    """Before anything is fetched."""
    portal.on("GET", f"jobs/{JOB_ID}/outputs", page(RESULT))
    result = gangline("outputs", "get", JOB_ID, "else.txt")
    assert (result.code, "else.txt" in result.err) == (2, True)


def test_checkpoints_show_which_are_damaged(gangline: Command, portal: RecordingPortal) -> None:
    """With the reason."""
    damaged = {
        "id": "c1",
        "step": 40,
        "state": "damaged",
        "size_bytes": 2048,
        "problem": "rank-0.pt is short",
    }
    portal.on("GET", f"jobs/{JOB_ID}/checkpoints", page(damaged))
    out = gangline("checkpoints", "list", JOB_ID).out
    for text in ("40", "damaged", "2.0 KiB", "rank-0.pt is short"):
        assert text in out
