"""`gangline submit`: from what was typed to one job, with its code, watched to its end if wanted."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
from email import message_from_bytes
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.recording_portal import Answer, RecordingPortal, Seen, job, page, refusal

JOB_ID = job()["id"]
SUBMITTED = Answer(job(), 201)


def parts(seen: Seen) -> dict[str, bytes]:
    """The parts of a multipart request by name."""
    message = message_from_bytes(
        b"Content-Type: " + seen.headers["content-type"].encode() + b"\r\n\r\n" + seen.body
    )
    found = {}
    for part in message.walk():
        name = part.get_param("name", header="content-disposition")
        if name:
            found[str(name)] = bytes(part.get_payload(decode=True))
    return found


def members(archive: bytes) -> dict[str, str]:
    """The files of a tar.gz with their text."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        return {name: tar.extractfile(name).read().decode() for name in tar.getnames()}  # type: ignore[union-attr]


def test_pairs_become_a_document_with_numbers_lists_and_text(
    gangline: Command, portal: RecordingPortal
) -> None:
    """Dotted keys nest; a command stays text whatever it looks like."""
    portal.on("POST", "jobs", SUBMITTED)
    result = gangline(
        *("submit", "name=007", "queue=vision", "workers=4", "resources.accelerators=1"),
        *(
            "resources.types=[h100, a100]",
            "run=python x.py: now",
            "params.lr=3e-4",
            "environment.variables.N=1",
        ),
    )
    assert result.code == 0
    assert portal.of("POST", "jobs")[0].json() == {
        "name": "007",
        "queue": "vision",
        "workers": 4,
        "resources": {"accelerators": 1, "types": ["h100", "a100"]},
        "run": "python x.py: now",
        "params": {"lr": 0.0003},
        "environment": {"variables": {"N": "1"}},
    }


def test_submit_prints_the_id_and_the_next_commands(gangline: Command, portal: RecordingPortal) -> None:
    """With why it waits."""
    waiting = job(
        reason={"code": "no_room", "text": "2 of 4 workers fit.", "help": "Wait for j7.", "params": {}}
    )
    portal.on("POST", "jobs", Answer(waiting, 201))
    out = gangline("submit", "name=x").out
    for text in (JOB_ID, "2 of 4 workers fit.", "Wait for j7.", f"gangline logs -f {JOB_ID}"):
        assert text in out


def test_o_name_prints_the_id_alone(gangline: Command, portal: RecordingPortal) -> None:
    """For scripts: the id and nothing else."""
    portal.on("POST", "jobs", SUBMITTED)
    assert gangline("submit", "name=x", "-o", "name").out == f"{JOB_ID}\n"


def test_pairs_go_over_the_file_and_its_code_folder_goes_along(
    gangline: Command, portal: RecordingPortal, tmp_path: Path
) -> None:
    """`code` is beside the file, wherever we stand; what .ganglineignore names stays here."""
    folder = tmp_path / "work"
    (folder / "data").mkdir(parents=True)
    (folder / "代码").mkdir()
    (folder / "job.yaml").write_text(
        "name: a\nqueue: vision\ncode: .\nrun: python 代码/训练.py\n", encoding="utf-8"
    )
    (folder / "代码" / "训练.py").write_text("print(1)\n")
    (folder / "data" / "big.bin").write_text("no")
    (folder / ".ganglineignore").write_text("data/\n")
    portal.on("POST", "jobs", SUBMITTED)
    assert gangline("submit", "-f", str(folder / "job.yaml"), "workers=2").code == 0
    sent = parts(portal.of("POST", "jobs")[0])
    assert json.loads(sent["spec"]) == {
        "name": "a",
        "queue": "vision",
        "run": "python 代码/训练.py",
        "workers": 2,
    }
    archive = members(sent["code"])
    assert archive["代码/训练.py"] == "print(1)\n"
    assert sorted(archive) == [".ganglineignore", "job.yaml", "代码/训练.py"]


def test_an_archive_is_sent_as_it_is(gangline: Command, portal: RecordingPortal, tmp_path: Path) -> None:
    """Whoever packed it knew what they did; the portal looks at it."""
    (tmp_path / "code.zip").write_bytes(b"PK...")
    (tmp_path / "job.yaml").write_text("name: a\ncode: code.zip\n")
    portal.on("POST", "jobs", SUBMITTED)
    assert gangline("submit", "-f", str(tmp_path / "job.yaml")).code == 0
    assert parts(portal.of("POST", "jobs")[0])["code"] == b"PK..."


def test_a_code_folder_that_is_not_there_is_bad_usage(
    gangline: Command, portal: RecordingPortal, tmp_path: Path
) -> None:
    """Not an empty upload."""
    (tmp_path / "job.yaml").write_text("name: a\ncode: src\n")
    result = gangline("submit", "-f", str(tmp_path / "job.yaml"))
    assert (result.code, portal.requests) == (2, [])
    assert str(tmp_path / "src") in result.err


def test_a_job_file_may_come_on_standard_input(gangline: Command, portal: RecordingPortal) -> None:
    """As `-f -`."""
    portal.on("POST", "jobs", SUBMITTED)
    assert gangline("submit", "-f", "-", stdin="name: a\nworkers: 2\n").code == 0
    assert portal.of("POST", "jobs")[0].json() == {"name": "a", "workers": 2}


def test_the_same_key_is_sent_for_the_same_submission(gangline: Command, portal: RecordingPortal) -> None:
    """A script that does not know whether its last try arrived repeats it with its own key."""
    portal.on("POST", "jobs", SUBMITTED)
    gangline("submit", "name=a", "--key", "nightly-1")
    assert portal.of("POST", "jobs")[0].headers["idempotency-key"] == "nightly-1"


def test_a_dry_run_creates_nothing_and_tells_the_predicted_start(
    gangline: Command, portal: RecordingPortal
) -> None:
    """Only the portal's check is asked."""
    portal.on("POST", "jobs/validate", {"valid": True, "details": [], "predicted": {"starts_now": True}})
    result = gangline("submit", "--dry-run", "name=a")
    assert (result.code, result.out) == (0, "Valid. It would start at once.\n")
    assert portal.of("POST", "jobs") == []


def test_validate_lists_every_mistake_and_is_refused(gangline: Command, portal: RecordingPortal) -> None:
    """The same form as a refused submission."""
    details = [{"path": "run", "problem": "is required"}, {"path": "workers", "problem": "must be 1 or more"}]
    portal.on("POST", "jobs/validate", {"valid": False, "details": details, "predicted": None})
    result = gangline("validate", "name=a")
    assert result.code == 3
    assert "  run: is required\n  workers: must be 1 or more\n" in result.err


@pytest.mark.parametrize(("state", "code"), [("succeeded", 0), ("failed", 1), ("cancelled", 1)])
def test_watch_ends_as_the_job_ends(
    gangline: Command, portal: RecordingPortal, state: str, code: int
) -> None:
    """Progress, state changes and the loss on the way; the job's end in the exit code."""
    portal.on("POST", "jobs", SUBMITTED)
    portal.on("GET", f"jobs/{JOB_ID}/metrics", {"series": {}, "latest": {"loss": 2.5}})
    portal.on(
        "GET",
        f"jobs/{JOB_ID}",
        job(),
        job(state="running", step=3, total_steps=10),
        job(state=state, step=10, total_steps=10, reason={"code": "x", "text": "how it went"}),
    )
    result = gangline("submit", "name=x", "--watch")
    assert result.code == code
    for text in ("first  queued", "first  running  step 3/10  loss 2.5000", f"first: {state}, how it went"):
        assert text in result.out


def test_a_watched_job_that_fails_shows_its_last_lines(gangline: Command, portal: RecordingPortal) -> None:
    """The traceback is what one looks for next."""
    portal.on("POST", "jobs", SUBMITTED)
    portal.on(
        "GET", f"jobs/{JOB_ID}", job(state="failed", attempt={"last_lines": ["Traceback", "ValueError: x"]})
    )
    assert gangline("submit", "name=x", "--watch").out.endswith("  Traceback\n  ValueError: x\n")


def test_watch_survives_a_restart_of_the_portal(gangline: Command, portal: RecordingPortal) -> None:
    """An outage says nothing about the job."""
    portal.on("POST", "jobs", SUBMITTED)
    away = refusal("unavailable", "Restarting.", 503)
    portal.on("GET", f"jobs/{JOB_ID}", job(state="running"), away, away, job(state="succeeded"))
    result = gangline("--wait", "0", "submit", "name=x", "--watch")
    assert result.code == 0
    assert "Trying again" in result.err


def test_ctrl_c_detaches_and_never_cancels(portal: RecordingPortal, tmp_path: Path) -> None:
    """The job goes on; how to look again is told."""
    portal.on("POST", "jobs", SUBMITTED)
    portal.on("GET", f"jobs/{JOB_ID}", job(state="running"))
    roots = str(Path(__file__).parents[2] / "platform")
    environ = {
        **os.environ,
        "PYTHONPATH": roots,
        "GANGLINE_URL": portal.url,
        "GANGLINE_TOKEN": "t",
        "HOME": str(tmp_path),
    }
    command = [sys.executable, "-m", "gangline.main", "submit", "name=x", "--watch"]
    with subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        while "running" not in child.stdout.readline():
            pass
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=20)
    assert child.returncode == 130
    assert f"gangline logs -f {JOB_ID}" in err
    assert {seen.path for seen in portal.requests if seen.method == "POST"} == {"/api/v1/jobs"}


def test_a_watched_job_that_waits_tells_why_once(gangline: Command, portal: RecordingPortal) -> None:
    """Numbers in the reason change all the time; only another reason is news."""
    portal.on("POST", "jobs", SUBMITTED)

    def waiting(code: str, text: str) -> dict[str, object]:
        return job(reason={"code": code, "text": text, "help": "", "params": {}})

    portal.on(
        "GET",
        f"jobs/{JOB_ID}",
        waiting("over_quota", "4 of 4 used"),
        waiting("over_quota", "3 of 4 used"),
        waiting("no_room", "no node has room"),
        job(state="succeeded"),
    )
    out = gangline("submit", "name=x", "--watch").out
    assert len(re.findall("of 4 used", out)) == 1
    assert "no node has room" in out


def test_an_idle_list_shows_only_live_jobs_by_default(gangline: Command, portal: RecordingPortal) -> None:
    """`-a` shows ended ones as well; filters go to the portal."""
    portal.on("GET", "jobs", page(job()))
    assert "first" in gangline("ps").out
    assert "succeeded" not in portal.requests[-1].query["state"]
    gangline("ps", "-a", "--queue", "vision", "--mine", "--search", "微调")
    assert portal.requests[-1].query == {"queue": ["vision"], "mine": ["true"], "search": ["微调"]}
