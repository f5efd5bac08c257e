"""Reads the log of a job's workers as it grows: by byte offset, so that no line is lost or told twice."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from gangline.sight import ENDED
from gangline.words import say

if TYPE_CHECKING:
    from gangline.client import Portal

Json = dict[str, Any]
PAGE_BYTES = 1024**2
SHORT_PAUSE_SECONDS, LONG_PAUSE_SECONDS = 0.2, 1.0
# How long after an attempt its log may stay silent before we stop waiting for its end: a lost node
# never closes it, and a node that was cut off for a while still delivers what it had kept.
UNCLOSED_SECONDS = 10.0
SILENT_RANK_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Selection:
    """Which logs are wanted."""

    ranks: tuple[int, ...] = ()  # empty: every rank
    attempt: int | None = None  # None: the newest, and on following all later ones too
    tail: int | None = None  # only so many lines of what is there at first


class Sink(Protocol):
    """Where the text of logs goes."""

    def text(self, rank: int, text: str) -> None:
        """The next piece of a rank's log; need not end with a line's end."""

    def note(self, text: str) -> None:
        """A remark that is not part of any log."""


@dataclass(slots=True)
class RankLog:
    """How far one rank's log of one attempt has been read."""

    portal: "Portal"
    job_id: str
    rank: int
    attempt: int | None  # None: the newest, fixed by the first answer that has one
    tail: int | None = None
    offset: int = 0
    is_closed: bool = False
    ranks: tuple[int, ...] = ()
    heard_at: float = field(default_factory=time.monotonic)

    def read(self, sink: Sink) -> bool:
        """Pass on the next page; whether there was anything in it."""
        page = self._page()
        self.tail = None
        if page.get("attempt") is None:
            return False
        self.attempt, self.ranks = page["attempt"], tuple(page.get("ranks") or ())
        fresh = page["next_offset"] > self.offset
        self.offset = page["next_offset"]
        self.is_closed = bool(page["closed"]) and self.offset >= page["size"] and self._is_sure()
        if page["text"]:
            self.heard_at = time.monotonic()
            sink.text(self.rank, page["text"])
        return fresh and self.offset < int(page["size"])

    def _is_sure(self) -> bool:
        """A rank without output counts as closed with its attempt; its first bytes may be on their way."""
        return self.rank in self.ranks or time.monotonic() - self.heard_at > SILENT_RANK_SECONDS

    def _page(self) -> Json:
        where: Json = (
            {"tail": self.tail} if self.tail is not None else {"offset": self.offset, "limit": PAGE_BYTES}
        )
        page: Json = self.portal.get(
            f"jobs/{self.job_id}/logs", attempt=self.attempt, rank=self.rank, **where
        )
        return page

    def drain(self, sink: Sink) -> None:
        """Pass on all that is there now."""
        while self.read(sink):
            pass


def print_logs(portal: "Portal", job_id: str, sink: Sink, selection: Selection) -> None:
    """Pass on what the logs hold now, rank after rank."""
    for rank in selection.ranks or _known_ranks(portal, job_id, selection.attempt):
        RankLog(portal, job_id, rank, selection.attempt, selection.tail).drain(sink)


def follow_logs(portal: "Portal", job_id: str, sink: Sink, selection: Selection) -> None:
    """Pass on the logs until the job has ended, attempt after attempt, or of the one selected."""
    attempt = _wait_for_attempt(portal, job_id, selection.attempt)
    while attempt is not None:
        _follow_attempt(portal, job_id, sink, replace(selection, attempt=attempt))
        if selection.attempt is not None:
            return
        selection = replace(selection, tail=None)
        attempt = _wait_for_attempt(portal, job_id, attempt + 1)
        if attempt is not None:
            sink.note(say("attempt {number}", number=attempt))


def _known_ranks(portal: "Portal", job_id: str, attempt: int | None) -> tuple[int, ...]:
    page = portal.get(f"jobs/{job_id}/logs", attempt=attempt, rank=0, offset=0, limit=4)
    return tuple(page.get("ranks") or (0,))


def _wait_for_attempt(portal: "Portal", job_id: str, number: int | None) -> int | None:
    """The given attempt, or the newest one, once there is one; None if the job ended without it."""
    while True:
        job = portal.get(f"jobs/{job_id}")
        if job["num_attempts"] >= (number or 1):
            return number or int(job["num_attempts"])
        if job["state"] in ENDED:
            return None
        time.sleep(SHORT_PAUSE_SECONDS)


def _follow_attempt(portal: "Portal", job_id: str, sink: Sink, selection: Selection) -> None:
    logs = {rank: _log(portal, job_id, rank, selection) for rank in selection.ranks or (0,)}
    pause = SHORT_PAUSE_SECONDS
    while not all(log.is_closed for log in logs.values()):
        if _drain_all(logs, sink):
            pause = SHORT_PAUSE_SECONDS
        elif _is_given_up(portal, job_id, selection.attempt, logs.values()):
            sink.note(
                say(
                    "the log of attempt {number} was never closed: its node may be lost",
                    number=selection.attempt,
                )
            )
            return
        else:
            time.sleep(pause)
            pause = min(2 * pause, LONG_PAUSE_SECONDS)
        for rank in () if selection.ranks else logs[0].ranks:
            logs.setdefault(rank, _log(portal, job_id, rank, selection))


def _log(portal: "Portal", job_id: str, rank: int, selection: Selection) -> RankLog:
    return RankLog(portal, job_id, rank, selection.attempt, selection.tail)


def _drain_all(logs: dict[int, RankLog], sink: Sink) -> bool:
    before = sum(log.offset for log in logs.values())
    for log in logs.values():
        if not log.is_closed:
            log.drain(sink)
    return sum(log.offset for log in logs.values()) > before


def _is_given_up(portal: "Portal", job_id: str, attempt: int | None, logs: Iterable[RankLog]) -> bool:
    heard_at = [log.heard_at for log in logs if not log.is_closed]
    if not heard_at or time.monotonic() - max(heard_at) < UNCLOSED_SECONDS:
        return False
    job = portal.get(f"jobs/{job_id}")
    return job["state"] in ENDED or job["num_attempts"] > (attempt or 0)
