"""Files that workers leave, and the index of checkpoints."""

import hashlib
import io
from pathlib import Path
from uuid import uuid4

import pytest

from artifacts.downloads import attachment_headers
from artifacts.errors import DamagedUpload, TooLarge
from artifacts.models import CheckpointState, Output
from artifacts.paths import path_problem
from artifacts.selectors import (
    checkpoints_of,
    output_of,
    outputs_of,
)
from artifacts.services import (
    mark_checkpoint_damaged,
    open_output,
    outputs,
    record_checkpoint,
    retire_checkpoints,
    save_output,
)
from refusals import Conflict, Invalid, NotFound
from tests.accounts.builders import NOW
from tests.artifacts.conftest import LIMIT

pytestmark = pytest.mark.django_db
JOB, ATTEMPT = uuid4(), uuid4()


def save(path: str, content: bytes, *, sha256: str | None = None) -> Output:
    """One file of the attempt."""
    sha256 = sha256 or hashlib.sha256(content).hexdigest()
    return save_output(
        job_id=JOB, attempt_id=ATTEMPT, path=path, sha256=sha256, body=io.BytesIO(content), now=NOW
    )


def test_a_file_keeps_its_name_and_bytes() -> None:
    """结果.txt is 结果.txt, and no such name is on our disk."""
    output = save("结果.txt", b"42")
    assert [(kept.path, kept.size_bytes) for kept in outputs_of(JOB)] == [("结果.txt", 2)]
    assert open_output(output).read(100) == b"42"
    assert output_of(JOB, output.id) == output


def test_no_name_from_outside_is_on_our_disk(data_dir: Path) -> None:
    """Neither of folders nor of files."""
    save("a folder/结果.txt", b"42")
    names = {part for path in (data_dir / "blobs").rglob("*") for part in path.parts}
    assert not names & {"a folder", "结果.txt"}


def test_in_a_bucket(bucket: str) -> None:
    """The same, and from the middle on."""
    output = save("结果.txt", b"0123456789" * 1000)
    assert open_output(output).read(10) == b"0123456789"
    assert open_output(output, offset=9_995).read(100) == b"56789"


def test_a_later_file_of_the_same_path_takes_its_place() -> None:
    """A repeat changes nothing."""
    first, again, later = save("a", b"1"), save("a", b"1"), save("a", b"2")
    assert first.id == again.id == later.id
    assert open_output(later).read(10) == b"2"
    assert outputs_of(JOB).count() == 1


@pytest.mark.parametrize(
    "path",
    [
        "",
        "../x",
        "a/../../x",
        "/etc/passwd",
        "a//b",
        "a/./b",
        "a/",
        "..\\x",
        "a\0",
        "a\nb",
        "x" * 501,
        "名" * 90,
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    """Nothing is kept."""
    with pytest.raises(Invalid) as refused:
        save(path, b"1")
    assert [item.path for item in refused.value.details] == ["path"]
    assert not outputs_of(JOB).exists()


@pytest.mark.parametrize("path", ["%2e%2e/x", "*", "a b/ü.csv", "-rf", "=1+1", "<b>", "...", "😀"])
def test_other_names_are_names(path: str) -> None:
    """Letter for letter."""
    assert path_problem(path) is None


def test_damaged_bytes_are_refused() -> None:
    """With both checksums."""
    with pytest.raises(DamagedUpload) as refused:
        save("a", b"1", sha256="0" * 64)
    assert refused.value.status == 422
    assert hashlib.sha256(b"1").hexdigest() in refused.value.message
    assert not outputs_of(JOB).exists()


def test_a_file_that_is_too_large_is_cut_off() -> None:
    """At the limit."""
    save("a", bytes(LIMIT))
    with pytest.raises(TooLarge) as refused:
        save("b", bytes(LIMIT + 1))
    assert refused.value.message.startswith("The file is larger than the 1.0\xa0MB")


def test_an_attempt_leaves_so_many_files_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that it has may be replaced."""
    monkeypatch.setattr(outputs, "MOST_OUTPUTS", 2)
    save("a", b"1")
    save("b", b"1")
    with pytest.raises(Conflict):
        save("c", b"1")
    save("a", b"2")


def test_another_jobs_file_is_not_found() -> None:
    """Even with the right id."""
    with pytest.raises(NotFound):
        output_of(uuid4(), save("a", b"1").id)


def test_a_file_whose_bytes_are_gone_is_not_found(data_dir: Path) -> None:
    """Never a 500."""
    output = save("a", b"1")
    next(path for path in (data_dir / "blobs").rglob("*") if path.is_file()).unlink()
    with pytest.raises(NotFound):
        open_output(output)


def test_a_download_is_saved_under_its_name_and_never_shown() -> None:
    """In any script, and with quotes in it."""
    headers = attachment_headers("folder/结果.txt")
    assert headers["Content-Disposition"] == "attachment; filename*=utf-8''%E7%BB%93%E6%9E%9C.txt"
    assert headers["Content-Type"] == "application/octet-stream"
    assert attachment_headers('a"b.html')["Content-Disposition"] == 'attachment; filename="a\\"b.html"'


def checkpoint(step: int) -> str:
    """A whole one of the job; its path."""
    path = f"/checkpoints/{JOB}/step-{step:08d}"
    record_checkpoint(job_id=JOB, attempt_id=ATTEMPT, step=step, path=path, size_bytes=10, now=NOW)
    return path


def states() -> dict[int, str]:
    """Step to state."""
    return dict(checkpoints_of(JOB).values_list("step", "state"))


def test_checkpoints_are_listed_by_step() -> None:
    """Not by the time at which they were told."""
    for step in (20, 30, 10):
        checkpoint(step)
    assert [kept.step for kept in checkpoints_of(JOB)] == [30, 20, 10]


def test_a_damaged_one_is_passed_over_and_says_why() -> None:
    """Until it is written over whole."""
    checkpoint(10)
    path = checkpoint(20)
    assert mark_checkpoint_damaged(job_id=JOB, path=path, problem="sha256 differs" * 50) == 1
    damaged = checkpoints_of(JOB).get(step=20)
    assert (damaged.state, damaged.problem) == (CheckpointState.DAMAGED, ("sha256 differs" * 50)[:300])
    checkpoint(20)
    assert states() == {10: "whole", 20: "whole"}


def test_a_repeat_is_one_checkpoint() -> None:
    """Delivery is at least once."""
    checkpoint(10)
    checkpoint(10)
    assert states() == {10: "whole"}


def test_retired_ones_are_shown_deleted_and_a_damaged_one_does_not_count() -> None:
    """The newest whole ones stay, at least one."""
    for step in (10, 20, 30):
        checkpoint(step)
    mark_checkpoint_damaged(job_id=JOB, path=checkpoint(40), problem="x")
    assert retire_checkpoints(job_id=JOB, keep=2) == 1
    assert states() == {10: "deleted", 20: "whole", 30: "whole", 40: "damaged"}
    assert retire_checkpoints(job_id=JOB, keep=0) == 1
    assert states()[30] == "whole"


@pytest.mark.parametrize("path", ["", "x" * 1001, "a\0b"])
def test_a_checkpoints_path_is_printable(path: str) -> None:
    """It is shown."""
    with pytest.raises(Invalid):
        record_checkpoint(job_id=JOB, attempt_id=ATTEMPT, step=1, path=path, size_bytes=1, now=NOW)
