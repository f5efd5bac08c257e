"""Streams of workers: logs kept as they are, events read once each, whatever user code writes into them."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from artifacts.models import Checkpoint, Stream
from artifacts.services import read_stream
from eventlog.models import Event
from jobs.errors import StreamGap
from jobs.models import Attempt
from jobs.services.launch import checkpoint_dir
from jobs.services.streams import take_stream
from jobs.worker_events import LONGEST_LINE
from ray_runtime.protocol import EndCause
from refusals import Invalid
from telemetry.models import MetricPoint
from telemetry.selectors import series
from tests.jobs.builders import World, at, fresh

EVENTS = "rank-0.events"


def send(
    attempt: Attempt, body: bytes, *, name: str = EVENTS, offset: int | None = None, final: bool = False
) -> int:
    """Bytes arrive; behind what is there, unless said otherwise."""
    if offset is None:
        stream = Stream.objects.filter(attempt_id=attempt.id, name=name).first()
        offset = stream.size_bytes if stream else 0
    return take_stream(attempt, name=name, offset=offset, body=body, final=final, now=at(100))


def line(kind: str, step: int, **data: Any) -> bytes:
    """One line as a worker writes it."""
    return json.dumps({"kind": kind, "at_ms": 1_000, "step": step, **data}).encode() + b"\n"


def path_of(attempt: Attempt, step: int) -> str:
    """Where the job saves."""
    return f"{checkpoint_dir(attempt.job_id)}/step-{step:08}"


def test_a_log_is_kept_byte_for_byte(world: World) -> None:
    """Also invalid text, in pieces that overlap."""
    _job, attempt = world.running()
    assert send(attempt, b"one\n\xff\x00tw", name="rank-0.log") == 8
    assert send(attempt, b"\x00two\n", name="rank-0.log", offset=5, final=True) == 10
    kept = read_stream(attempt_id=attempt.id, name="rank-0.log", offset=0, limit=100)
    assert kept == b"one\n\xff\x00two\n"


def test_a_gap_is_refused_with_the_size(world: World) -> None:
    """The agent sends on from there."""
    _job, attempt = world.running()
    send(attempt, b"abc", name="rank-0.log")
    with pytest.raises(StreamGap) as gap:
        send(attempt, b"x", name="rank-0.log", offset=5)
    assert gap.value.params["size"] == 3


@pytest.mark.parametrize(
    "name", ["rank-1.log", "rank-0.txt", "../rank-0.log", "rank-x.log", "rank--1.log", ""]
)
def test_only_streams_of_the_gang_are_taken(world: World, name: str) -> None:
    """A name is never a path."""
    _job, attempt = world.running()
    with pytest.raises(Invalid):
        send(attempt, b"x", name=name)


def test_progress_comes_from_rank_0(world: World) -> None:
    """Total, step, and what the attempt started from."""
    job, attempt = world.running()
    send(attempt, line("started", 0, total_steps=100, resumed_from=None, world_size=1))
    send(attempt, line("metrics", 7, values={"loss": 2.5}))
    assert (fresh(job).step, fresh(job).total_steps) == (7, 100)
    assert series(job.id)["loss"] == [[7, 2.5, 1_000]]


@pytest.mark.parametrize("kind", ["checkpoint", "damaged"])
def test_word_of_an_earlier_step_s_save_does_not_set_progress_back(world: World, kind: str) -> None:
    """A save ends steps after it began, and a damaged checkpoint is told with step 0."""
    job, attempt = world.running()
    send(attempt, line("metrics", 64, values={"loss": 2.5}))
    told = {
        "path": path_of(attempt, 50),
        "size_bytes": 10,
        "seconds": 1.0,
        "stall_seconds": 0.0,
        "why": "torn",
    }
    send(attempt, line(kind, 50 if kind == "checkpoint" else 0, **told))
    assert fresh(job).step == 64


def test_other_ranks_do_not_speak_for_the_job(world: World) -> None:
    """Their numbers are kept as theirs."""
    job = world.submit(workers=2)
    attempt = world.place(job, nodes=("n1", "n2"))
    send(attempt, line("metrics", 9, values={"loss": 1.0}), name="rank-1.events")
    assert fresh(job).step is None
    assert MetricPoint.objects.get().rank == 1


def test_a_line_may_come_in_pieces_and_again(world: World) -> None:
    """Cut anywhere, with any overlap: read once."""
    job, attempt = world.running()
    whole = b"".join(line("metrics", step, values={"loss": float(step)}) for step in range(1, 6))
    sent = 0
    for end in (1, 30, 31, 77, 150, len(whole)):
        send(attempt, whole[max(0, sent - 9) : end], offset=max(0, sent - 9))
        sent = end
    assert [point[0] for point in series(job.id)["loss"]] == [1, 2, 3, 4, 5]
    assert Event.objects.filter(job_id=job.id, kind="checkpoint_saved").count() == 0


def test_a_last_line_without_a_break_counts_when_the_stream_closes(world: World) -> None:
    """The worker was killed while it wrote, or never wrote the break."""
    job, attempt = world.running()
    send(attempt, line("metrics", 1, values={"loss": 1.0}) + line("metrics", 2, values={"loss": 2.0})[:-1])
    assert len(series(job.id)["loss"]) == 1
    send(attempt, b"", final=True)
    assert len(series(job.id)["loss"]) == 2


BAD = [
    b"not json\n",
    b"{}\n",
    b"[]\n",
    b"7\n",
    b"null\n",
    b'{"kind": "unknown", "step": 1}\n',
    b'{"kind": "metrics", "step": 1}\n',
    b'{"kind": "metrics", "step": 1, "values": [1]}\n',
    b'{"kind": "metrics", "step": 1, "values": null}\n',
    b'{"kind": "metrics", "step": "1", "values": {}}\n',
    b'{"kind": "metrics", "step": -1, "values": {}}\n',
    b'{"kind": "metrics", "step": 1e300, "values": {}}\n',
    b'{"kind": "metrics", "step": true, "values": {}}\n',
    b'{"kind": ["metrics"], "step": 1}\n',
    b'{"kind": "metrics", "step": 1, "values": {}, "not_finite": 7}\n',
    b"\xff\xfe\x00\n",
    b"\n \n",
    b"[" * 100_000 + b"\n",
    b"9" * 5_000 + b"\n",
    b"x" * (LONGEST_LINE + 10) + b"\n",
]


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_a_bad_line_is_passed_over(world: World, bad: bytes) -> None:
    """And the next one is read."""
    job, attempt = world.running()
    send(attempt, bad + line("metrics", 3, values={"loss": 1.0}))
    assert fresh(job).step == 3


ODD = [
    line("metrics", 2**61, values={"loss": 1e308}),
    line("metrics", 1, values={"loss": "x", "a\x00": 1, "\ud800": 2, "n" * 500: 3, "big": 10**400}),
    line("metrics", 1, values={str(number): number for number in range(500)}),
    line("metrics", 1, values={"loss": 1}, not_finite=["grad", 7]),
    b'{"kind": "metrics", "step": 1, "values": {"loss": NaN, "b": Infinity}}\n',
    line("started", 0, total_steps="many", resumed_from=-1),
    line("started", 0, total_steps=2**70),
    line("checkpoint", 1),
    line("checkpoint", 1, path=7, size_bytes="x"),
    line("checkpoint", 1, path="\x00\ud800", size_bytes=-1),
    line("damaged", 1, path=None, why={"a": 1}),
    line("finished", 1, at_ms=10**30),
    json.dumps({"kind": "finished", "step": 1, "at_ms": "soon"}).encode() + b"\n",
]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_odd_values_never_stop_the_stream(world: World, odd: bytes) -> None:
    """Kept as far as they mean something."""
    job, attempt = world.running()
    send(attempt, odd + line("finished", 5))
    assert fresh(job).step == 5


def test_a_checkpoint_is_indexed_and_tells_what_a_preemption_would_lose(world: World) -> None:
    """Its time is the job's `saved_at`; only as many count as the job keeps."""
    job, attempt = world.running(checkpoint={"keep": 2})
    for step in (10, 20, 30):
        send(attempt, line("checkpoint", step, path=path_of(attempt, step), size_bytes=5))
    states = dict(Checkpoint.objects.filter(job_id=job.id).values_list("step", "state"))
    assert states == {10: "deleted", 20: "whole", 30: "whole"}
    saved_at = fresh(job).saved_at
    assert saved_at is not None
    assert saved_at.timestamp() == 1.0
    assert Event.objects.filter(job_id=job.id, kind="checkpoint_saved").count() == 3


def test_a_checkpoint_outside_the_jobs_folder_is_not_believed(world: World) -> None:
    """Another job could be started from whatever is named there."""
    job, attempt = world.running()
    own = checkpoint_dir(job.id)
    for path in ("/etc", str(own), f"{own}/../x", f"{own}x/step-1", "step-1", f"{own}/./../../y"):
        send(attempt, line("checkpoint", 1, path=path))
    assert not Checkpoint.objects.exists()
    assert fresh(job).saved_at is None


def test_a_damaged_checkpoint_is_marked_with_the_reason(world: World) -> None:
    """And nothing starts from it."""
    job, attempt = world.running()
    path = path_of(attempt, 10)
    send(attempt, line("checkpoint", 10, path=path))
    send(attempt, line("damaged", 10, path=path, why="checksum of shard 3"))
    found = Checkpoint.objects.get(job_id=job.id)
    assert (found.state, found.problem) == ("damaged", "checksum of shard 3")
    assert Event.objects.get(job_id=job.id, kind="checkpoint_damaged").data["why"] == "checksum of shard 3"


def test_late_lines_of_an_earlier_attempt_do_not_set_the_job_back(world: World) -> None:
    """Its checkpoint is indexed all the same: it was saved on the way out."""
    job, old = world.running(limits={"node_retries": 3})
    world.end(old, EndCause.AGENT_LOST, node="n1")
    new = world.place(job)
    send(new, line("metrics", 50, values={"loss": 1.0}))
    send(old, line("metrics", 40, values={"loss": 2.0}) + line("checkpoint", 40, path=path_of(old, 40)))
    assert fresh(job).step == 50
    assert Checkpoint.objects.get().step == 40


def test_a_resumed_attempt_says_from_where(world: World) -> None:
    """And the job's step follows it back."""
    job, old = world.running(limits={"node_retries": 3})
    send(old, line("metrics", 50, values={"loss": 1.0}))
    world.end(old, EndCause.NODE_LOST, node="n1")
    new = world.place(job)
    send(new, line("started", 40, total_steps=100, resumed_from=40))
    assert fresh(job).step == 40
    assert Attempt.objects.get(id=new.id).resumed_step == 40


def test_nothing_is_written_outside_the_data_folder(world: World) -> None:
    """Streams are named by attempt and rank."""
    _job, attempt = world.running()
    send(attempt, b"x", name="rank-0.log")
    folder = Path(settings.ENV.data_dir) / "streams" / str(attempt.id)
    assert [path.name for path in folder.iterdir()] == ["rank-0.log"]
