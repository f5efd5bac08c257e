"""Logs and files of jobs over REST: pieces of whole characters, tails, downloads under exact names."""

from hashlib import sha256
from typing import Any

import pytest

from artifacts.models import Stream
from artifacts.services import save_output
from jobs.models import Attempt
from jobs.services.streams import take_stream
from ray_runtime.protocol import EndCause
from tests.api.faces import Face
from tests.jobs.builders import at


def write(attempt: Attempt, body: bytes, *, rank: int = 0, final: bool = False) -> None:
    """Bytes of a worker's log, behind what is there."""
    name = f"rank-{rank}.log"
    stream = Stream.objects.filter(attempt_id=attempt.id, name=name).first()
    offset = stream.size_bytes if stream else 0
    take_stream(attempt, name=name, offset=offset, body=body, final=final, now=at(1))


def read_all(face: Face, job_id: object, **params: Any) -> tuple[str, int]:
    """Follow `next_offset` to the end; the text and the number of answers."""
    text, offset, answers = "", 0, 0
    while True:
        piece = face.get(f"jobs/{job_id}/logs", offset=offset, **params).json()
        text, answers = text + piece["text"], answers + 1
        if piece["next_offset"] == offset:
            return text, answers
        offset = piece["next_offset"]


def test_a_job_without_an_attempt_has_an_empty_log(face: Face) -> None:
    """Not an error: it waits."""
    job = face.submit()
    body = face.get(f"jobs/{job['id']}/logs").json()
    assert (body["attempt"], body["ranks"], body["text"], body["closed"]) == (None, [], "", False)


@pytest.mark.parametrize("limit", [1, 4, 5, 7, 1000])
def test_pieces_join_to_the_whole_text(face: Face, limit: int) -> None:
    """Cut anywhere, no character is torn apart."""
    job, attempt = face.world.running()
    text = "第一行 🚀 loss=1.0\nÄÖÜ\r进度\n" * 3
    write(attempt, text.encode())
    assert read_all(face, job.id, limit=limit)[0] == text


def test_invalid_bytes_become_replacements_and_stop_nothing(face: Face) -> None:
    """The lines behind them are there; the offsets count bytes."""
    job, attempt = face.world.running()
    body = b"a\xff\xfe\xf0\x9f\x9a\nb\xc3"
    write(attempt, body, final=True)
    piece = face.get(f"jobs/{job.id}/logs").json()
    assert piece["text"] == body.decode("utf-8", "replace")
    assert (piece["next_offset"], piece["size"], piece["closed"]) == (len(body), len(body), True)


def test_a_character_whose_rest_is_to_come_is_waited_for(face: Face) -> None:
    """Until the stream closes."""
    job, attempt = face.world.running()
    rocket = "🚀".encode()
    write(attempt, b"go " + rocket[:2])
    assert face.get(f"jobs/{job.id}/logs").json()["next_offset"] == 3
    write(attempt, rocket[2:])
    assert face.get(f"jobs/{job.id}/logs", offset=3).json()["text"] == "🚀"


def test_one_answer_is_never_larger_than_2_mib(face: Face) -> None:
    """PC13: however large the log."""
    job, attempt = face.world.running()
    write(attempt, b"x" * (5 * 2**20))
    first = face.get(f"jobs/{job.id}/logs")
    assert len(first.content) < 2 * 2**20
    assert face.get(f"jobs/{job.id}/logs", limit=2**22).status_code == 422
    assert len(face.get(f"jobs/{job.id}/logs", limit=2**21).json()["text"]) == 2**21


def test_the_tail_is_whole_lines_from_the_end(face: Face) -> None:
    """As many as are asked for."""
    job, attempt = face.world.running()
    write(attempt, b"".join(b"line %d\n" % number for number in range(1000)))
    piece = face.get(f"jobs/{job.id}/logs", tail=2).json()
    assert (piece["text"], piece["next_offset"]) == ("line 998\nline 999\n", piece["size"])


def test_ranks_and_attempts_have_logs_of_their_own(face: Face) -> None:
    """The newest attempt unless another is asked for; only ranks that wrote are listed."""
    job = face.world.submit(workers=2, limits={"node_retries": 3})
    first = face.world.place(job, nodes=("n1", "n2"))
    write(first, b"old\n")
    face.world.end(first, EndCause.NODE_LOST, node="n1")
    second = face.world.place(job, nodes=("n1", "n2"))
    write(second, b"zero\n")
    write(second, b"one\n", rank=1)
    newest = face.get(f"jobs/{job.id}/logs", rank=1).json()
    assert (newest["attempt"], newest["ranks"], newest["text"]) == (2, [0, 1], "one\n")
    oldest = face.get(f"jobs/{job.id}/logs", attempt=1).json()
    assert (oldest["ranks"], oldest["text"]) == ([0], "old\n")
    assert face.get(f"jobs/{job.id}/logs", attempt=3).status_code == 404


def test_a_worker_that_never_wrote_is_closed_with_its_attempt(face: Face) -> None:
    """Whoever follows it comes to an end."""
    job, attempt = face.world.running()
    assert face.get(f"jobs/{job.id}/logs").json()["closed"] is False
    face.world.end(attempt)
    assert face.get(f"jobs/{job.id}/logs").json()["closed"] is True


def test_a_download_is_byte_for_byte(face: Face) -> None:
    """Saved, never shown or run."""
    job, attempt = face.world.running()
    body = b"\xff\x00<img src=x onerror=alert(1)>\r\n" * 20_000
    write(attempt, body)
    answer = face.get(f"jobs/{job.id}/logs", download=1)
    assert b"".join(answer.streaming_content) == body
    assert answer["Content-Length"] == str(len(body))
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["X-Content-Type-Options"] == "nosniff"


def leave(attempt: Attempt, path: str, body: bytes) -> Any:
    """A worker leaves a file."""
    return save_output(
        job_id=attempt.job_id,
        attempt_id=attempt.id,
        path=path,
        sha256=sha256(body).hexdigest(),
        body=body,
        now=at(1),
    )


def test_a_file_keeps_its_exact_name(face: Face) -> None:
    """Also in Chinese, and inside a folder."""
    job, attempt = face.world.running()
    output = leave(attempt, "out/结果.txt", str(job.id).encode())
    listed = face.get(f"jobs/{job.id}/outputs").json()["results"]
    assert [(one["path"], one["size_bytes"]) for one in listed] == [("out/结果.txt", 36)]
    answer = face.get(f"jobs/{job.id}/outputs/{output.id}")
    assert b"".join(answer.streaming_content) == str(job.id).encode()
    assert "filename*=utf-8''%E7%BB%93%E6%9E%9C.txt" in answer["Content-Disposition"]


def test_a_file_is_found_under_its_own_job_only(face: Face) -> None:
    """Neither under another job of the team nor by a stranger."""
    job, attempt = face.world.running()
    other, _attempt = face.world.running(node="n2")
    output = leave(attempt, "x", b"secret")
    assert face.get(f"jobs/{other.id}/outputs/{output.id}").status_code == 404
    assert face.get(f"jobs/{job.id}/outputs/{output.id}", "outsider").status_code == 404
    assert face.get(f"jobs/{job.id}/outputs/{output.id}", "viewer").status_code == 200


@pytest.mark.parametrize(
    "hostile",
    ["../", "..%2f", "%2e%2e/", "%252e%252e/", "/etc/passwd", "*", "..%5c", "%2e%2e%2fetc%2fpasswd"],
)
def test_hostile_names_of_files_are_4xx(face: Face, hostile: str) -> None:
    """PC10: an address never becomes a path."""
    job, _attempt = face.world.running()
    answer = face.client().get(f"/api/v1/jobs/{job.id}/outputs/{hostile}")
    assert 400 <= answer.status_code < 500
