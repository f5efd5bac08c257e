"""When each waiting job is expected to start, and what that rests on.

Devices kept: when the victims are gone. A reservation: its time. For the first others in order of turn the
earliest start beside those (at a place for the very first, by limits and devices after that). On top of
that, and for everybody behind, the line is taken as a fluid on each supply that bounds a job: its accelerator
types, and each limit of a queue above it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from scheduling.amounts import DEVICE_MILLI, Ask
from scheduling.backfill import Backfill
from scheduling.ends import (
    MOMENT_MS,
    NEVER,
    duration_of,
    end_of,
    gone_at,
    is_predicted,
    leaving,
)
from scheduling.fluid import Supplied, expected_starts
from scheduling.headroom import Scope
from scheduling.model import Basis, Eta, Job, JobId, JobPhase, Runtimes
from scheduling.placements import Spot, spots
from scheduling.standing import Standing
from scheduling.supply import BoolArray, FloatArray, IntArray

NUM_PLACED = 2  # asks for which a place is sought
NUM_BOUNDED = 16  # asks for which limits and devices are looked at
UNKNOWN = Eta(at_ms=None, basis=Basis.UNKNOWN)


def expected_times(
    standing: Standing, backfill: Backfill, turns: Sequence[Job], never: Mapping[Ask, bool]
) -> dict[JobId, Eta]:
    """An expected time for everybody who waits, given in order of turn; `never`: who can never start."""
    waiting = [job for job in turns if job.id not in standing.starts]
    if not waiting:
        return {}
    etas = _Line(standing, backfill, waiting, never).etas()
    etas.update(_kept(standing))
    for booking in backfill.bookings:
        etas[booking.reservation.job] = Eta(at_ms=booking.starts_at_ms, basis=booking.reservation.basis)
    _wait_for_others(standing, waiting, etas)
    return etas


class _Line:
    """Everybody who waits, as columns in order of turn. Jobs that ask for the same are bounded alike."""

    def __init__(
        self, standing: Standing, backfill: Backfill, waiting: Sequence[Job], never: Mapping[Ask, bool]
    ) -> None:
        self._standing = standing
        self._backfill = backfill
        self._jobs = waiting
        asks = standing.asks
        self._ids = [job.id for job in waiting]
        of_jobs = [asks[name] for name in self._ids]
        self._asks = list(dict.fromkeys(of_jobs))  # the one asked for first comes first
        number = {ask: number for number, ask in enumerate(self._asks)}
        self._ask = np.fromiter(map(number.__getitem__, of_jobs), dtype=np.int64, count=len(of_jobs))
        self._never = np.array([never.get(ask, False) for ask in self._asks], dtype=np.bool_)
        amounts = [ask.total_milli for ask in self._asks]
        self._own = np.array(amounts, dtype=np.float64)[self._ask]
        self._demand = np.where(self._never[self._ask], 0.0, self._own)
        if standing.keeps:  # what they will hold is held already
            self._demand[[name in standing.keeps for name in self._ids]] = 0.0
        self._work = np.zeros_like(self._demand)
        durations = _durations(waiting, standing.policy.runtimes)
        np.multiply(self._demand, durations, out=self._work, where=self._demand > 0)

    def etas(self) -> dict[JobId, Eta]:
        """Expected times by the line alone."""
        at = self._bounds()[self._ask]
        for members, shares, supplied in (*self._type_pools(), *self._queue_pools()):
            rows = np.flatnonzero(shares[self._ask] > 0)
            share = shares[self._ask[rows]]
            starts = expected_starts(
                supplied, self._demand[rows] * share, self._work[rows] * share, self._own[rows]
            )
            inside = members[self._ask[rows]]
            at[rows[inside]] = np.maximum(at[rows[inside]], starts[inside])
        at[self._never[self._ask]] = NEVER
        moments, number = np.unique(at, return_inverse=True)
        basis = self._basis()
        known = [UNKNOWN if t >= NEVER else Eta(at_ms=t, basis=basis) for t in moments.tolist()]
        return dict(zip(self._ids, map(known.__getitem__, number.tolist()), strict=True))

    def _bounds(self) -> IntArray:
        """For each ask a moment before which nobody who asks for it starts; now where nobody looked."""
        bounds = np.full(len(self._asks), self._standing.now_ms + MOMENT_MS)
        booked = {self._standing.asks[b.reservation.job]: b.starts_at_ms for b in self._backfill.bookings}
        num_places = NUM_PLACED - len(booked)
        firsts = np.unique(self._ask, return_index=True)[1]
        for number, ask in enumerate(self._asks[:NUM_BOUNDED]):
            job = self._jobs[int(firsts[number])]
            if ask in booked:
                bounds[number] = booked[ask]
            elif not self._never[number] and job.id not in self._standing.keeps:
                bounds[number] = self._bound(job, with_place=num_places > 0)
                num_places -= 1
        return bounds

    def _bound(self, job: Job, *, with_place: bool) -> int:
        if not with_place:
            return self._backfill.bound(job)
        booking = self._backfill.search(job).book()
        return NEVER if booking is None else booking.starts_at_ms

    def _type_pools(self) -> Iterator[tuple[BoolArray, FloatArray, Supplied]]:
        """For each choice of types: who has it, which part of each ask counts there, and the devices."""
        chosen = [ask.request.kind.types for ask in self._asks]
        choices = list(dict.fromkeys(chosen))
        number = {types: number for number, types in enumerate(choices)}
        of_asks = np.fromiter(map(number.__getitem__, chosen), dtype=np.int64, count=len(chosen))
        for types in choices:
            sizes = [(self._num_devices(each, types), self._num_devices(each)) for each in choices]
            shares = np.array([common / max(size, 1) for common, size in sizes], dtype=np.float64)
            yield of_asks == number[types], shares[of_asks], self._devices(types)

    def _queue_pools(self) -> Iterator[tuple[BoolArray, FloatArray, Supplied]]:
        """For each limit that the line exceeds: who waits below it, and what it leaves."""
        tree, headroom = self._standing.tree, self._backfill.outlook().headroom
        queues = np.array([ask.queue for ask in self._asks], dtype=np.int64)
        wanted = np.bincount(queues[self._ask], weights=self._demand, minlength=len(tree.queues))
        for number, queue in enumerate(tree.queues):
            below = np.array([number in chain for chain in tree.chains], dtype=np.bool_)
            if queue.limit_milli is None or not wanted[below].any():
                continue
            ends, sums = headroom.curve(Scope(number))
            free_now = queue.limit_milli - int(sums[-1])
            if free_now < wanted[below].sum():
                members = below[queues]
                supplied = Supplied.of(self._standing.now_ms, free_now, ends, sums[1:])
                yield members, members.astype(np.float64), supplied

    def _num_devices(self, types: tuple[str, ...], others: tuple[str, ...] = ()) -> int:
        """Devices of the usable nodes that are of one of these types, and of one of the others."""
        names = enumerate(self._standing.supply.types)
        return sum(
            self._sizes[number]
            for number, name in names
            if (not types or name in types) and (not others or name in others)
        )

    @cached_property
    def _sizes(self) -> list[int]:
        """Devices of each type on usable nodes."""
        supply, usable = self._standing.supply, self._backfill.usable
        sizes = np.bincount(supply.type_of, weights=supply.num_devices * usable, minlength=len(supply.types))
        return [int(size) for size in sizes]

    def _devices(self, types: tuple[str, ...]) -> Supplied:
        """What is free of these types as the holders give it back."""
        rows, headroom = self._backfill.outlook().tenures, self._backfill.outlook().headroom
        is_meant = [not types or name in types for name in self._standing.supply.types]
        held = headroom.types_held[headroom.by_end]
        order = headroom.by_end[np.array([*is_meant, False])[held]]
        given_back = np.cumsum(rows.amount[order])
        free_now = self._num_devices(types) * DEVICE_MILLI - int(rows.amount[order].sum())
        return Supplied.of(self._standing.now_ms, free_now, rows.end[order], given_back)

    def _basis(self) -> Basis:
        """Estimates rest on everybody's ends: one prediction among them makes a prediction of them all."""
        runtimes = self._standing.policy.runtimes
        if runtimes is Runtimes.LIMITS:
            return Basis.LIMITS
        of_holders = self._backfill.outlook().tenures.is_predicted
        is_any = of_holders.any() or any(is_predicted(job, runtimes) for job in self._jobs)
        return Basis.PREDICTION if is_any else Basis.LIMITS


def _durations(jobs: Iterable[Job], runtimes: Runtimes) -> FloatArray:
    """How long each attempt lasts; infinite where nothing bounds it."""
    if runtimes is Runtimes.LIMITS:
        limits = [np.inf if job.max_runtime_ms is None else job.max_runtime_ms for job in jobs]
        return np.array(limits, dtype=np.float64)
    believed = np.array([duration_of(job, runtimes) for job in jobs], dtype=np.float64)
    believed[believed >= NEVER] = np.inf
    return believed


def _kept(standing: Standing) -> Iterator[tuple[JobId, Eta]]:
    """Jobs that devices are kept for start when those who leave these devices are gone."""
    gone: dict[Spot, int] = {}
    for job, placement in leaving(standing) if standing.keeps else ():
        for spot in spots(placement):
            gone[spot] = max(gone.get(spot, 0), gone_at(job, now_ms=standing.now_ms))
    soonest = standing.now_ms + MOMENT_MS
    for name, placement in standing.keeps.items():
        at_ms = max((gone.get(spot, soonest) for spot in spots(placement)), default=soonest)
        yield name, Eta(at_ms=at_ms, basis=Basis.LIMITS)


def _wait_for_others(standing: Standing, waiting: Sequence[Job], etas: dict[JobId, Eta]) -> None:
    """Nobody starts before the jobs that it depends on have ended: those were submitted before it."""
    dependent = [job for job in waiting if job.depends_on and standing.is_barred(job)]
    for job in sorted(dependent, key=lambda job: (job.submitted_at_ms, job.id)):
        ends = [
            _end_of(standing, standing.jobs[name], etas) for name in job.depends_on & standing.jobs.keys()
        ]
        own = etas[job.id].at_ms
        at_ms = max([NEVER if own is None else own, *ends])
        etas[job.id] = UNKNOWN if at_ms >= NEVER else Eta(at_ms=at_ms, basis=etas[job.id].basis)


def _end_of(standing: Standing, job: Job, etas: dict[JobId, Eta]) -> int:
    """When a job that holds devices or waits for them is believed to have ended."""
    runtimes = standing.policy.runtimes
    if job.phase is JobPhase.PLACED and job.id not in standing.evictions:
        return end_of(job, now_ms=standing.now_ms, runtimes=runtimes)
    eta = etas.get(
        job.id, UNKNOWN if job.id not in standing.starts else Eta(at_ms=standing.now_ms, basis=Basis.LIMITS)
    )
    return NEVER if eta.at_ms is None else eta.at_ms + duration_of(job, runtimes)
