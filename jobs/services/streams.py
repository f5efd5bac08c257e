"""Bytes of workers' streams: kept as they are; those of events streams are also read, each line once."""

import logging
import re
from datetime import datetime
from uuid import UUID

from django.db import transaction

from artifacts.services import Appended, append_stream, read_stream
from eventlog.wakeups import job_channel, publish_after_commit
from jobs.errors import StreamGap
from jobs.models import Attempt
from jobs.services.progress import take_facts
from jobs.worker_events import LONGEST_LINE, read_facts, whole_lines
from refusals import Invalid, Problem

logger = logging.getLogger(__name__)

_NAME = re.compile(r"rank-([0-9]{1,6})\.(log|events)")


def take_stream(attempt: Attempt, *, name: str, offset: int, body: bytes, final: bool, now: datetime) -> int:
    """Append bytes to one stream of an attempt; its size afterwards. Also after the attempt has ended.

    Repeats and overlaps are harmless. Raises `StreamGap` when bytes before these are missing, `Invalid` for a
    name that is not a stream of this gang.
    """
    rank, kind = _stream_of(attempt, name)
    with transaction.atomic():
        appended = append_stream(
            attempt_id=attempt.id,
            job_id=attempt.job_id,
            name=name,
            offset=offset,
            body=body,
            final=final,
            now=now,
        )
        if appended.gap:
            raise StreamGap(size=appended.size)
        if kind == "events":
            _read_events(attempt, rank, name, appended, final=final, now=now)
        elif appended.fresh or final:
            message = {"type": "log", "attempt": attempt.number, "rank": rank, "size": appended.size}
            publish_after_commit(job_channel(attempt.job_id), message)
    return appended.size


def _stream_of(attempt: Attempt, name: str) -> tuple[int, str]:
    match = _NAME.fullmatch(name)
    if match is None or int(match[1]) >= len(attempt.placement):
        raise Invalid(details=[Problem("name", "rank-<rank>.log | rank-<rank>.events")])
    return int(match[1]), match[2]


def _read_events(
    attempt: Attempt, rank: int, name: str, appended: Appended, *, final: bool, now: datetime
) -> None:
    start = appended.size - len(appended.fresh)
    before = _open_line(attempt.id, name, end=start)
    read = read_facts(whole_lines(before, appended.fresh, final=final), now=now)
    if read.num_bad:
        logger.info("attempt %s, %s: %d lines could not be read", attempt.id, name, read.num_bad)
    if read.facts:
        take_facts(attempt, rank=rank, facts=read.facts, now=now)
        message = {"type": "metrics", "step": read.facts[-1].step}
        publish_after_commit(job_channel(attempt.job_id), message)


def _open_line(attempt_id: UUID, name: str, *, end: int) -> bytes:
    """What stands before `end`, far enough back to hold the beginning of any line that may be read."""
    begin = max(0, end - LONGEST_LINE - 1)
    return read_stream(attempt_id=attempt_id, name=name, offset=begin, limit=end - begin) if end else b""
