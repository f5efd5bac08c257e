"""The live snapshot: kept in this process, brought up to date by what changed since it was read last.

Every row that the engine decides on carries the transaction that changed it (a trigger writes it). What a
reading did not see has a number of at least that reading's xmin, so the next one asks from there on and
misses nothing, whether a wake-up was lost or transactions committed out of order. Now and then counts are
compared all the same, and a difference is logged and everything read anew.
"""

import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Sum

from cluster.selectors import nodes_changed_since, supply, windows
from jobs.lifecycle import TERMINAL, State
from jobs.models import Dependency, Job
from jobs.selectors import usage_half_life_hours
from jobs.snapshot import Row, read_rows
from quotas.selectors import NOTHING, demand, past_usage
from scheduling import model
from scheduling.model import Eta, Help, JobId, Placement, Reason, ReasonCode, Reservation
from scheduling.snapshot import Snapshot

logger = logging.getLogger(__name__)

VERIFIED_EVERY = 100  # readings
PAST_SUMMED_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a plan says about a job that waits, at one version of it."""

    job: JobId
    version: int
    reason: Reason | None
    kept: Placement
    eta: Eta | None
    reserved: Reservation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A snapshot, and the version of each job in it: a decision holds only for that version.

    `told` is what the last plan of this process wrote about those that wait: the same is not written again.
    Those `outside` wait for a job that is hidden from the engine (held, in its backoff, or itself outside),
    and so are they.
    """

    snapshot: Snapshot
    versions: Mapping[JobId, int]
    outside: Mapping[JobId, Reason] = field(default_factory=dict)
    told: dict[JobId, Told] = field(default_factory=dict, compare=False)

    def bars(self, asked: model.Job) -> Reason | None:
        """Why a job that is not stored would be outside as well; None if the engine may look at it."""
        shown = {job.id for job in self.snapshot.jobs} if asked.depends_on else set()
        hidden = frozenset(key for key in asked.depends_on if key in self.versions and key not in shown)
        return _waits(hidden) if hidden else None


class LiveSnapshot:
    """What one process knows of the jobs that have not ended, of nodes, queues and windows."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.num_read = 0  # rows of jobs that the last reading took from the database
        self.forget()

    def forget(self) -> None:
        """Read everything the next time."""
        self._xmin: int | None = None
        self._rows: dict[JobId, Row] = {}
        self._versions: dict[JobId, int] = {}
        self._special: dict[JobId, Row] = {}  # that may have to be hidden: held, delayed, or dependent
        self._hidden: set[JobId] = set()
        self._changed: set[JobId] = set()  # since the snapshot was made
        self._snapshot = Snapshot.of(nodes=[], queues=[], jobs=[], levels=settings.ENV.topology_levels)
        self._until_verified = VERIFIED_EVERY
        self._told: dict[JobId, Told] = {}
        self._usage: Mapping[UUID, int] = NOTHING
        self._summed_at: datetime | None = None

    def read(self, *, now: datetime) -> Reading:
        """The jobs, nodes, queues and windows of one moment."""
        with self._lock:
            try:
                return self._read(now)
            except BaseException:
                self.forget()  # half of a change is worse than none
                raise

    def _read(self, now: datetime) -> Reading:
        with transaction.atomic():
            if not connection.savepoint_ids:  # inside a caller's transaction, that one's level holds
                with connection.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            xmin = _xmin()
            self._catch_up()
            nodes = supply() if self._xmin is None or nodes_changed_since(self._xmin) else None
            queues, planned = demand(self._past(now)), windows(now)
            self._xmin = xmin
        return self._reading(self._supplied(nodes, queues, planned), now)

    def _past(self, now: datetime) -> Mapping[UUID, int]:
        """The queues' past usage, where the policy counts it; summed up anew once in a while."""
        hours = usage_half_life_hours()
        if hours == 0:
            return NOTHING
        if self._summed_at is None or now - self._summed_at >= PAST_SUMMED_EVERY:
            self._usage = past_usage(now=now, half_life=timedelta(hours=hours))
            self._summed_at = now
        return self._usage

    def _catch_up(self) -> None:
        """Take in what changed since the last reading; everything at first, or if something was missed."""
        if self._xmin is not None:
            self._take(read_rows(since=self._xmin))
            self._until_verified -= 1
            if self._until_verified <= 0:
                self._told.clear()  # a row that was locked then is told now
            if self._until_verified <= 0 and self._differs():
                self.forget()
        if self._xmin is None:
            self._take(read_rows(since=None))

    def _take(self, rows: list[Row]) -> None:
        self.num_read = len(rows)
        waiting = [row.job.id for row in rows if row.state in (State.QUEUED, State.HELD)]
        depends_on = _dependencies(waiting)
        for row in rows:
            self._changed.add(row.job.id)
            for known in (self._rows, self._versions, self._special, self._told):  # all of it is told anew
                known.pop(row.job.id, None)
            if row.state not in TERMINAL:
                self._keep(row.depending_on(depends_on.get(row.job.id, frozenset())))

    def _keep(self, row: Row) -> None:
        self._rows[row.job.id] = row
        self._versions[row.job.id] = row.version
        if row.state is State.HELD or row.not_before is not None or row.job.depends_on:
            self._special[row.job.id] = row

    def _supplied(
        self, nodes: list[model.Node] | None, queues: list[model.Queue], planned: list[model.Window]
    ) -> Snapshot:
        """The last snapshot with nodes, queues and windows as they are now; itself if nothing changed."""
        shown = self._snapshot
        changes: dict[str, Any] = {} if nodes is None else {"nodes": nodes}
        changes |= {} if list(shown.queues) == queues else {"queues": queues}
        changes |= {} if list(shown.windows) == planned else {"windows": planned}
        return shown.with_event(**changes) if changes else shown

    def _reading(self, shown: Snapshot, now: datetime) -> Reading:
        aside = {key for key, row in self._special.items() if row.is_aside(now)}
        hidden = aside | _dependents(self._special, aside)
        others = {key: self._special[key].job.depends_on & hidden for key in sorted(hidden - aside)}
        outside = {key: _waits(held) for key, held in others.items()}
        touched = self._changed | (self._hidden - hidden)
        came = [self._rows[key].job for key in touched if key in self._rows and key not in hidden]
        gone = {key for key in self._changed if key not in self._rows} | hidden
        if came or not gone.isdisjoint(self._changed | hidden - self._hidden):
            shown = shown.with_event(jobs=came, gone=gone)
        self._snapshot, self._hidden, self._changed = shown, hidden, set()
        return Reading(snapshot=shown, versions=dict(self._versions), outside=outside, told=self._told)

    def _differs(self) -> bool:
        """Whether something was missed, by what the database counts."""
        self._until_verified = VERIFIED_EVERY
        found = Job.objects.exclude(state__in=TERMINAL).aggregate(num=Count("id"), versions=Sum("version"))
        there = (found["num"], found["versions"] or 0)
        own = (len(self._rows), sum(self._versions.values()))
        if there != own:
            logger.warning("the live snapshot missed a change and is read anew: %s, not %s", own, there)
        return there != own


def _xmin() -> int:
    """Every transaction below it has ended and is seen by this reading."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
        return int(cursor.fetchone()[0])


def _dependencies(waiting: Iterable[JobId]) -> dict[JobId, frozenset[JobId]]:
    found: dict[JobId, set[JobId]] = {}
    rows = Dependency.objects.filter(job__in=[UUID(key) for key in waiting])
    for job_id, on_id in rows.values_list("job_id", "on_id"):
        found.setdefault(JobId(str(job_id)), set()).add(JobId(str(on_id)))
    return {key: frozenset(others) for key, others in found.items()}


def _dependents(rows: Mapping[JobId, Row], aside: Iterable[JobId]) -> set[JobId]:
    """Who waits for one of those set aside, or for one who does."""
    after: dict[JobId, list[JobId]] = {}
    for key, row in rows.items():
        for other in row.job.depends_on:
            after.setdefault(other, []).append(key)
    found, to_follow = set[JobId](), list(aside)
    while to_follow:
        new = [key for key in after.get(to_follow.pop(), ()) if key not in found]
        found.update(new)
        to_follow += new
    return found


def _waits(others: frozenset[JobId]) -> Reason:
    params: dict[str, int | str] = {"job": min(others), "num_jobs": len(others)}
    return Reason(code=ReasonCode.WAITS_JOB, params=params, help=Help.WAIT_FOR_JOB)


LIVE = LiveSnapshot()
