"""`gangline logs`: every line once, over pages, attempts, restarts of the portal and nodes that went away."""

import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from gangline import follow
from tests.cli.conftest import Command
from tests.cli.recording_portal import Answer, RecordingPortal, Seen, job, page, refusal

JOB_ID = job()["id"]


@dataclass
class LoggedJob:
    """A job whose logs grow under a test's control: one step of `script` is taken at each look at rank 0."""

    texts: dict[tuple[int, int], str] = field(default_factory=dict)
    closed: set[int] = field(default_factory=set)
    state: str = "running"
    attempts: int = 1
    script: list[Any] = field(default_factory=list)

    def serve(self, portal: RecordingPortal) -> None:
        """Answer as the portal would."""
        portal.on(
            "GET", f"jobs/{JOB_ID}", lambda _: Answer(job(state=self.state, num_attempts=self.attempts))
        )
        portal.on("GET", f"jobs/{JOB_ID}/logs", self.read)

    def write(self, text: str, *, attempt: int = 1, rank: int = 0) -> None:
        """Append to a rank's log."""
        self.texts[attempt, rank] = self.texts.get((attempt, rank), "") + text

    def read(self, seen: Seen) -> Answer:
        """A page of a rank's log, by byte offset."""
        attempt = int(seen.query.get("attempt", [str(self.attempts)])[0])
        rank, offset = int(seen.query["rank"][0]), int(seen.query.get("offset", ["0"])[0])
        data = self.texts.get((attempt, rank), "").encode()
        if "tail" in seen.query:
            lines = data.decode().splitlines(keepends=True)[-int(seen.query["tail"][0]) or len(data) :]
            offset = len(data) - len("".join(lines).encode())
            limit = len(data)
        else:
            limit = min(int(seen.query["limit"][0]), 40)
        piece = data[offset : offset + limit]
        while piece and offset + len(piece) < len(data) and data[offset + len(piece)] & 0xC0 == 0x80:
            piece = piece[:-1]
        answer = {
            "attempt": attempt,
            "rank": rank,
            "ranks": sorted({known for number, known in self.texts if number == attempt}),
            "offset": offset,
            "next_offset": offset + len(piece),
            "size": len(data),
            "text": piece.decode(),
            "closed": attempt in self.closed,
        }
        if rank == 0 and self.script and offset + len(piece) == len(data):
            self.script.pop(0)()
        return Answer(answer)


@pytest.fixture
def logged(portal: RecordingPortal) -> LoggedJob:
    """A running job with an empty log."""
    made = LoggedJob()
    made.serve(portal)
    return made


def numbered(first: int, last: int) -> str:
    """Lines that show at once if one is missing or doubled."""
    return "".join(f"行 {number}\n" for number in range(first, last + 1))


def test_logs_prints_what_is_there_over_all_pages(gangline: Command, logged: LoggedJob) -> None:
    """Pages end between characters, not between lines."""
    logged.write(numbered(1, 200))
    assert gangline("logs", JOB_ID).out == numbered(1, 200)


def test_following_prints_every_line_once_until_the_job_ends(gangline: Command, logged: LoggedJob) -> None:
    """Lines arrive while we look."""
    logged.write(numbered(1, 50))

    def end() -> None:
        logged.write(numbered(101, 120))
        logged.closed.add(1)
        logged.state = "succeeded"

    logged.script = [lambda: logged.write(numbered(51, 100)), lambda: None, end]
    assert gangline("logs", "-f", JOB_ID).out == numbered(1, 120)


def test_following_goes_on_with_the_next_attempt(gangline: Command, logged: LoggedJob) -> None:
    """The change is remarked on standard error, so that a pipe holds log lines alone."""
    logged.write(numbered(1, 10))

    def preempted() -> None:
        logged.closed.add(1)
        logged.state = "queued"

    def resumed() -> None:
        logged.attempts, logged.state = 2, "running"
        logged.write(numbered(11, 20), attempt=2)
        logged.closed.add(2)
        logged.state = "succeeded"

    logged.script = [preempted, resumed]
    result = gangline("logs", "-f", JOB_ID)
    assert result.out == numbered(1, 20)
    assert "--- attempt 2 ---" in result.err


def test_following_one_attempt_ends_with_it(gangline: Command, logged: LoggedJob) -> None:
    """Although the job goes on."""
    logged.attempts = 2
    logged.write("old\n", attempt=1)
    logged.write("new\n", attempt=2)
    logged.closed.add(1)
    assert gangline("logs", "-f", "--attempt", "1", JOB_ID).out == "old\n"


def test_following_survives_a_portal_that_goes_away_in_the_middle(
    gangline: Command, portal: RecordingPortal, logged: LoggedJob
) -> None:
    """No line is lost or told twice."""
    logged.write(numbered(1, 30))

    def restart() -> None:
        portal.on("GET", f"jobs/{JOB_ID}/logs", refusal("unavailable", "Restarting.", 503), logged.read)
        threading.Thread(target=_restart_in_half_a_second, args=(portal,)).start()

    def end() -> None:
        logged.write(numbered(31, 60))
        logged.closed.add(1)
        logged.state = "succeeded"

    logged.script = [restart, end]
    assert gangline("--wait", "0", "logs", "-f", JOB_ID).out == numbered(1, 60)


def _restart_in_half_a_second(portal: RecordingPortal) -> None:
    portal.stop()
    threading.Event().wait(0.5)
    portal.start()


def test_following_a_waiting_job_begins_when_it_starts(gangline: Command, portal: RecordingPortal) -> None:
    """There is no attempt yet, which is no error."""
    logged = LoggedJob(state="queued", attempts=0)
    looks = 0

    def look(_: Seen) -> Answer:
        nonlocal looks
        looks += 1
        if looks == 3:
            logged.attempts, logged.state = 1, "succeeded"
            logged.write("begun\n")
            logged.closed.add(1)
        return Answer(job(state=logged.state, num_attempts=logged.attempts))

    logged.serve(portal)
    portal.on("GET", f"jobs/{JOB_ID}", look)
    assert gangline("logs", "-f", JOB_ID).out == "begun\n"


def test_a_job_cancelled_before_it_started_has_no_log_to_wait_for(
    gangline: Command, portal: RecordingPortal
) -> None:
    """Following ends at once."""
    LoggedJob(state="cancelled", attempts=0).serve(portal)
    result = gangline("logs", "-f", JOB_ID)
    assert (result.code, result.out) == (0, "")


def test_a_log_that_is_never_closed_is_left_when_its_job_has_ended(
    gangline: Command, logged: LoggedJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lost node cannot close it; what had arrived is printed, and that it is not complete is said."""
    monkeypatch.setattr(follow, "UNCLOSED_SECONDS", 0.3)
    logged.write(numbered(1, 5))
    logged.state = "failed"
    result = gangline("logs", "-f", JOB_ID)
    assert result.out == numbered(1, 5)
    assert "never closed" in result.err


def test_tail_begins_with_the_last_lines_and_goes_on_from_there(gangline: Command, logged: LoggedJob) -> None:
    """Following after a tail repeats nothing."""
    logged.write(numbered(1, 100))

    def end() -> None:
        logged.write(numbered(101, 103))
        logged.closed.add(1)
        logged.state = "succeeded"

    logged.script = [end]
    assert gangline("logs", "-f", "--tail", "2", JOB_ID).out == numbered(99, 103)


def test_all_ranks_are_told_apart_line_by_line(gangline: Command, logged: LoggedJob) -> None:
    """A line that comes in two pieces is printed whole, with its rank before it."""
    logged.write("a0\nb")
    logged.write("a1\n", rank=1)

    def end() -> None:
        logged.write("0\nlast")
        logged.closed.add(1)
        logged.state = "succeeded"

    logged.script = [end]
    out = gangline("logs", "-f", "--rank", "all", JOB_ID).out
    assert sorted(out.splitlines()) == ["[0] a0", "[0] b0", "[0] last", "[1] a1"]


def test_a_job_may_be_named_for_its_logs(
    gangline: Command, portal: RecordingPortal, logged: LoggedJob
) -> None:
    """As for every command."""
    logged.write("hello\n")
    portal.on("GET", "jobs", page(job()))
    assert gangline("logs", "first").out == "hello\n"


def test_output_that_arrives_after_the_end_of_a_short_job_is_not_missed(
    gangline: Command, portal: RecordingPortal, logged: LoggedJob
) -> None:
    """A rank without output counts as closed once its attempt has ended, but the bytes come another way."""
    logged.closed.add(1)
    logged.state = "succeeded"
    logged.script = [lambda: None, lambda: logged.write("short\n")]
    assert gangline("logs", "-f", JOB_ID).out == "short\n"
