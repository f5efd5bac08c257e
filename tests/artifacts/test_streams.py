"""Live streams: appended exactly once by offset, read in ranges, shipped away when closed."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from artifacts.errors import StreamClosed
from artifacts.models import Stream
from artifacts.selectors import stream_of, streams_of, tail_offset
from artifacts.services import Appended, append_stream, read_stream, ship_streams
from artifacts.tasks import ship_closed_streams
from refusals import Invalid, NotFound
from tests.accounts.builders import NOW

LOG = "rank-0.log"


class Log:
    """One log of one attempt."""

    def __init__(self) -> None:
        self.attempt_id: UUID = uuid4()
        self.job_id: UUID = uuid4()

    def append(self, offset: int, body: bytes, *, final: bool = False, name: str = LOG) -> Appended:
        """Send these bytes."""
        return append_stream(
            attempt_id=self.attempt_id,
            job_id=self.job_id,
            name=name,
            offset=offset,
            body=body,
            final=final,
            now=NOW,
        )

    def read(self, offset: int = 0, limit: int = 10**9) -> bytes:
        """Read them back."""
        return read_stream(attempt_id=self.attempt_id, name=LOG, offset=offset, limit=limit)

    def tail(self, num_lines: int, max_bytes: int = 10**9) -> bytes:
        """The last lines."""
        offset = tail_offset(attempt_id=self.attempt_id, name=LOG, num_lines=num_lines, max_bytes=max_bytes)
        return self.read(offset)

    @property
    def row(self) -> Stream:
        """What is known about it."""
        stream = stream_of(self.attempt_id, LOG)
        assert stream is not None
        return stream


@pytest.fixture
def log(db: None) -> Log:
    """An empty one."""
    return Log()


def test_bytes_come_back_as_they_were_written(log: Log) -> None:
    """Whatever they are: colours, broken UTF-8, markup."""
    first, second = b"\x1b[31mred\n\xff\xfe", b"<img src=x>\r50%\r\n"
    assert log.append(0, first) == Appended(size=len(first), fresh=first)
    assert log.append(len(first), second) == Appended(size=len(first + second), fresh=second)
    assert log.read() == first + second
    assert (log.row.num_lines, log.row.size_bytes, log.row.closed_at) == (2, len(first + second), None)


def test_a_repeat_and_an_overlap_are_harmless(log: Log) -> None:
    """Only what is new is fresh."""
    log.append(0, b"hello ")
    assert log.append(0, b"hello ") == Appended(size=6)
    assert log.append(3, b"lo world") == Appended(size=11, fresh=b"world")
    assert log.append(1, b"ell") == Appended(size=11)
    assert log.read() == b"hello world"


def test_a_gap_takes_nothing_and_says_from_where_on(log: Log) -> None:
    """The sender goes back there."""
    log.append(0, b"abc")
    assert log.append(5, b"f") == Appended(size=3, gap=True)
    assert log.read() == b"abc"


def test_a_gap_before_the_first_byte_is_told_too(log: Log) -> None:
    """The stream begins at 0."""
    assert log.append(1, b"x") == Appended(size=0, gap=True)


def test_the_end_closes_it_and_counts_an_unfinished_line(log: Log) -> None:
    """And the end may come again."""
    log.append(0, b"one\ntwo")
    assert log.row.num_lines == 1
    log.append(7, b"", final=True)
    assert log.append(7, b"", final=True) == Appended(size=7)
    assert (log.row.num_lines, log.row.closed_at) == (2, NOW)


@pytest.mark.parametrize(("body", "num_lines"), [(b"", 0), (b"x", 1), (b"x\n", 1), (b"x\n\n", 2)])
def test_lines_are_counted_as_people_do(log: Log, body: bytes, num_lines: int) -> None:
    """Whether or not the last one has a line break."""
    log.append(0, body, final=True)
    assert log.row.num_lines == num_lines


def test_a_closed_stream_takes_no_more(log: Log) -> None:
    """Repeats of what it has are fine."""
    log.append(0, b"all", final=True)
    assert log.append(0, b"all") == Appended(size=3)
    with pytest.raises(StreamClosed) as refused:
        log.append(3, b"more")
    assert refused.value.message == "The stream “rank-0.log” was closed at 3 bytes and takes no more."
    assert log.read() == b"all"


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "rank-0.log/../x",
        "/etc/passwd",
        "rank-x.log",
        "rank-0.txt",
        "rank-0.log\n",
        "",
        "rank-٣.log",
    ],
)
def test_a_name_is_one_of_ours(log: Log, data_dir: Path, name: str) -> None:
    """It becomes a file's name."""
    with pytest.raises(Invalid) as refused:
        log.append(0, b"x", name=name)
    assert str(refused.value.details[0].problem) == "must be rank-<number>.log or rank-<number>.events"
    assert not data_dir.exists()


def test_a_negative_offset_is_refused(log: Log) -> None:
    """With its path."""
    with pytest.raises(Invalid) as refused:
        log.append(-1, b"x")
    assert [(item.path, str(item.problem)) for item in refused.value.details] == [
        ("offset", "must not be negative")
    ]


def test_an_append_whose_transaction_is_lost_leaves_no_trace(log: Log) -> None:
    """Its bytes lie in the file, are not read, and are written over."""
    log.append(0, b"abc")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        log.append(3, b"LOST BYTES")
        _ = 1 / 0
    assert log.read() == b"abc"
    assert log.append(3, b"def").fresh == b"def"
    assert log.read() == b"abcdef"
    log.append(6, b"", final=True)
    assert log.row.num_lines == 1


@pytest.mark.parametrize(
    ("offset", "limit", "expected"),
    [(0, 3, b"abc"), (2, 100, b"cdef"), (6, 5, b""), (7, 5, b""), (-1, 5, b""), (0, 0, b"")],
)
def test_ranges(log: Log, offset: int, limit: int, expected: bytes) -> None:
    """Nothing beyond the end, nothing before the beginning."""
    log.append(0, b"abcdef")
    assert log.read(offset, limit) == expected


def test_a_stream_that_there_is_not_yet_reads_as_empty(log: Log) -> None:
    """Its worker has not written anything."""
    assert log.read() == b""
    assert log.tail(10) == b""


def test_streams_of_an_attempt_are_listed_by_name(log: Log) -> None:
    """And no others."""
    log.append(0, b"x", name="rank-1.log")
    log.append(0, b"x", name="rank-0.events")
    Log().append(0, b"x")
    assert [stream.name for stream in streams_of(log.attempt_id)] == ["rank-0.events", "rank-1.log"]


@pytest.mark.parametrize(
    ("body", "num_lines", "expected"),
    [
        (b"1\n2\n3\n", 2, b"2\n3\n"),
        (b"1\n2\n3", 2, b"2\n3"),
        (b"1\n2\n3\n", 9, b"1\n2\n3\n"),
        (b"1\n\n\n", 2, b"\n\n"),
        (b"one", 1, b"one"),
        (b"1\n2\n", 0, b""),
    ],
)
def test_the_tail_has_the_last_lines(log: Log, body: bytes, num_lines: int, expected: bytes) -> None:
    """With or without a line break at the end."""
    log.append(0, body)
    assert log.tail(num_lines) == expected


def test_the_tail_of_a_long_log_is_found_over_many_blocks(log: Log) -> None:
    """Lines of 5 MB and of 5 bytes."""
    body = b"x" * 5_000_000 + b"\n" + b"".join(b"%06d\n" % number for number in range(50_000))
    log.append(0, body)
    assert log.tail(40_000).startswith(b"010000\n")
    assert log.tail(50_001) == body


def test_the_tail_is_bounded(log: Log) -> None:
    """A line without end does not make an answer without end."""
    log.append(0, b"x" * 1_000_000)
    assert log.tail(5, max_bytes=1000) == b"x" * 1000


LINES = st.lists(st.binary(max_size=8).map(lambda line: line.replace(b"\n", b"")), max_size=12)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=LINES, is_finished=st.booleans(), num_lines=st.integers(1, 14))
def test_whatever_the_log_the_tail_is_its_last_lines(
    db: None, lines: list[bytes], is_finished: bool, num_lines: int
) -> None:
    """A line ends at its line break and nowhere else."""
    log, body = Log(), b"\n".join(lines) + b"\n" * is_finished
    log.append(0, body)
    parts = [part + b"\n" for part in body.split(b"\n")]
    parts[-1] = parts[-1][:-1]
    present = [part for part in parts if part]
    assert log.tail(num_lines) == b"".join(present[-num_lines:])


@pytest.mark.django_db(transaction=True)
def test_two_senders_at_once_add_each_byte_once() -> None:
    """An agent that lost patience sends again while the first request is still running."""
    log, body = Log(), bytes(range(256)) * 40

    def send(start: int) -> int:
        try:
            return len(log.append(start, body[start : start + 2000]).fresh)
        finally:
            connection.close()

    for start in range(0, len(body), 1000):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(send, [start] * 4, timeout=60))
    assert log.read() == body
    assert log.row.size_bytes == len(body)


def test_closed_streams_are_shipped_to_a_bucket_and_read_from_there(
    log: Log, bucket: str, data_dir: Path
) -> None:
    """Open ones stay; the local file goes once the object is there."""
    other = Log()
    other.append(0, b"still open")
    log.append(0, b"one\ntwo\nthree\n", final=True)
    assert ship_streams(now=NOW) == 1
    assert log.row.shipped_at == NOW
    assert [path.read_bytes() for path in (data_dir / "streams").rglob("*.log")] == [b"still open"]
    assert (log.read(), log.read(4, 3), log.tail(1)) == (b"one\ntwo\nthree\n", b"two", b"three\n")
    assert log.append(0, b"one") == Appended(size=14)
    assert ship_streams(now=NOW) == 0


def test_a_crash_between_upload_and_note_ships_again(log: Log, bucket: str, data_dir: Path) -> None:
    """The object is replaced by itself; a crash after the note leaves a file that nobody misses."""
    log.append(0, b"bytes", final=True)
    ship_streams(now=NOW)
    Stream.objects.update(shipped_at=None)
    assert ship_streams(now=NOW) == 1
    assert log.read() == b"bytes"


def test_a_stream_that_is_nowhere_is_not_noted_as_shipped(log: Log, bucket: str, data_dir: Path) -> None:
    """A data folder that is not the one it was."""
    log.append(0, b"bytes", final=True)
    next((data_dir / "streams").rglob("*.log")).unlink()
    with pytest.raises(NotFound):
        ship_streams(now=NOW)
    assert log.row.shipped_at is None


def test_with_a_local_store_nothing_is_shipped(log: Log) -> None:
    """It lies where it belongs; also the task says so."""
    log.append(0, b"bytes", final=True)
    ship_closed_streams()
    assert log.row.shipped_at is None
    assert log.read() == b"bytes"


def test_an_empty_closed_stream_ships_as_nothing(log: Log, bucket: str) -> None:
    """A worker that wrote not a byte."""
    log.append(0, b"", final=True)
    assert ship_streams(now=NOW) == 1
    assert log.read() == b""
