"""Limits as of a later time: how early a queue, those above it, a user or an array has room for one more."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scheduling.ends import NEVER, PAST, Tenures
from scheduling.model import Job, JobId
from scheduling.standing import Standing
from scheduling.supply import BoolArray, IntArray

ANY_QUEUE = -1


@dataclass(frozen=True, slots=True)
class Scope:
    """Who counts towards a limit: the subtree of a queue, there one accelerator type or one user if named;
    or the jobs of an array, wherever they are.
    """

    queue: int
    type: str = ""
    user: str = ""
    array: str = ""


@dataclass(frozen=True, slots=True)
class Bound:
    """What a job would add to a scope, and the most that the scope may come to. Arrays count jobs."""

    scope: Scope
    most: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Stay:
    """A job that will hold devices of one type from one moment to another: all that it starts with, or (no
    job more) what a running one grows by.
    """

    job: Job
    amount_milli: int
    type: str
    starts_at_ms: int
    ends_at_ms: int
    num_jobs: int = 1

    def holds_at(self, at_ms: int) -> bool:
        """Whether it holds them at that moment."""
        return self.starts_at_ms <= at_ms < self.ends_at_ms


def depends_on_type(standing: Standing, job: Job) -> bool:
    """Whether some limit above the job is one accelerator type's."""
    chain = standing.tree.chains[standing.queue_of(job)]
    return bool(job.total_milli) and any(standing.tree.queues[number].type_limits for number in chain)


def bounds_of(standing: Standing, stay: Stay) -> Iterator[Bound]:
    """All limits that a stay has to respect; those of single types only if it is on one."""
    job, wanted, tree = stay.job, stay.amount_milli, standing.tree
    for number in tree.chains[standing.queue_of(job)] if wanted else ():
        queue = tree.queues[number]
        if queue.limit_milli is not None:
            yield Bound(Scope(number), queue.limit_milli, wanted)
        if stay.type in queue.type_limits:
            yield Bound(Scope(number, type=stay.type), queue.type_limits[stay.type], wanted)
        if queue.user_limit_milli is not None and job.user:
            yield Bound(Scope(number, user=job.user), queue.user_limit_milli, wanted)
    if job.array and job.array_cap is not None:
        yield Bound(Scope(ANY_QUEUE, array=job.array), job.array_cap, stay.num_jobs)


def amount_in(standing: Standing, scope: Scope, stay: Stay) -> int:
    """What a stay uses of a scope."""
    job = stay.job
    if scope.array:
        return stay.num_jobs * (job.array == scope.array)
    is_inside = scope.queue in standing.tree.chains[standing.queue_of(job)]
    is_meant = scope.type in ("", stay.type) and scope.user in ("", job.user)
    return stay.amount_milli if is_inside and is_meant else 0


class Headroom:
    """Answers for one state of the books, and for stays planned on top of it."""

    def __init__(self, standing: Standing, tenures: Tenures) -> None:
        self._standing = standing
        self._tree = standing.tree
        self._rows = tenures
        self._curves: dict[Scope, tuple[IntArray, IntArray]] = {}
        self._inside: dict[int, BoolArray] = {}

    @cached_property
    def by_end(self) -> IntArray:
        """Whoever holds something, in order of ends."""
        holders = np.flatnonzero(self._rows.end > PAST)
        return holders[np.argsort(self._rows.end[holders], kind="stable")]

    @cached_property
    def types_held(self) -> IntArray:
        """The accelerator type on which each holder stands, by number; -1 for none."""
        types = np.full(len(self._rows.end), -1, dtype=np.int64)
        types[self._rows.worker_holder] = self._standing.supply.type_of[self._rows.worker_node]
        return types

    def used(self, scope: Scope, at_ms: int, stays: Iterable[Stay] = ()) -> int:
        """What holders and planned stays use of a scope at that moment."""
        ends, sums = self.curve(scope)
        ended = int(np.searchsorted(ends, at_ms, side="right"))
        planned = (stay for stay in stays if stay.holds_at(at_ms))
        return int(sums[-1] - sums[ended]) + sum(amount_in(self._standing, scope, stay) for stay in planned)

    def earliest(self, bound: Bound, stays: Iterable[Stay] = ()) -> int:
        """The first moment at which holders leave room beside these stays, as if they all were there."""
        room = bound.most - bound.wanted - sum(amount_in(self._standing, bound.scope, stay) for stay in stays)
        ends, sums = self.curve(bound.scope)
        if room < 0:
            return NEVER
        must_end = int(np.searchsorted(sums, sums[-1] - room, side="left"))
        return PAST if must_end == 0 else int(ends[must_end - 1])

    def curve(self, scope: Scope) -> tuple[IntArray, IntArray]:
        """The ends of the scope's holders in order, and what has been given back after so many of them."""
        if scope not in self._curves:
            rows = self.by_end[self._members(scope)[self.by_end]]
            amounts = self._first_rows()[rows] if scope.array else self._rows.amount[rows]
            self._curves[scope] = self._rows.end[rows], np.append(0, np.cumsum(amounts))
        return self._curves[scope]

    def _members(self, scope: Scope) -> BoolArray:
        if scope.array:
            return np.array([job.array == scope.array for job in self._rows.jobs()], dtype=np.bool_)
        members = self._subtree(scope.queue)[self._rows.queue]
        if scope.type:
            types = self._standing.supply.types  # nobody holds any of a type that no node has
            held = self.types_held == types.index(scope.type) if scope.type in types else False
            members = members & held
        if scope.user:
            members = members & np.array(
                [job.user == scope.user for job in self._rows.jobs()], dtype=np.bool_
            )
        return members

    def _first_rows(self) -> IntArray:
        """1 for the first row of each job, 0 for its others (surplus, workers that leave)."""
        rows: dict[JobId, int] = {}
        for row, job in enumerate(self._rows.jobs()):
            rows.setdefault(job.id, row)
        first = np.zeros(len(self._rows.end), dtype=np.int64)
        first[list(rows.values())] = 1
        return first

    def _subtree(self, queue: int) -> BoolArray:
        if queue not in self._inside:
            inside = [queue in chain for chain in self._tree.chains]
            self._inside[queue] = np.array(inside, dtype=np.bool_)
        return self._inside[queue]
