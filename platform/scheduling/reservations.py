"""The earliest start of a job at a place, beside what was reserved before it.

Between two moments at which a reservation or a maintenance window begins or ends, things only become free, so
there the earliest moment is found by bisection, from a bound that looks at limits and devices alone. Such a
stretch of possible starts is a *phase*. In it the same reservations have begun when the job starts, and the
same ones begin while it runs: it has to fit beside the first at its start, beside the second at theirs.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from scheduling.amounts import Request, kind_of
from scheduling.ends import MOMENT_MS, NEVER, duration_of, tenures_of
from scheduling.future import Future
from scheduling.headroom import Headroom, Stay, bounds_of, depends_on_type
from scheduling.model import Job, Reservation, Window
from scheduling.placement import Place
from scheduling.standing import Standing
from scheduling.supply import BoolArray, Footprint, Free
from scheduling.windows import Calendar


@dataclass(frozen=True, slots=True, eq=False)
class Booking:
    """A reservation with what it takes and when it is over."""

    reservation: Reservation
    stay: Stay
    footprint: Footprint

    @property
    def starts_at_ms(self) -> int:
        """When it begins."""
        return self.stay.starts_at_ms

    def overlaps(self, starts_at_ms: int, ends_at_ms: int) -> bool:
        """Whether somebody who runs from then to then meets it."""
        return self.stay.starts_at_ms < ends_at_ms and starts_at_ms < self.stay.ends_at_ms


@dataclass(frozen=True, slots=True)
class Phase:
    """Possible starts between which nothing begins or ends, seen from one job.

    `begun`: bookings that it finds when it starts; `coming`: those that begin while it runs.
    """

    first_ms: int
    last_ms: int
    begun: tuple[Booking, ...]
    coming: tuple[Booking, ...]
    windows: tuple[Window, ...]


class Outlook:
    """What is believed of the future for one state of the standing: ends, devices, limits."""

    def __init__(self, standing: Standing, calendar: Calendar) -> None:
        self.version = standing.version
        self.tenures = tenures_of(standing)
        self.future = Future(standing, self.tenures, calendar.usable)
        self.headroom = Headroom(standing, self.tenures)
        self._profiles: dict[tuple[int, tuple[Booking, ...]], Free] = {}

    def profile(self, booking: Booking, bookings: Sequence[Booking]) -> Free:
        """What is free when a booking begins, beside all that hold something then."""
        at_ms = booking.starts_at_ms
        present = tuple(each for each in bookings if each.stay.holds_at(at_ms))
        free = self._profiles.get((at_ms, present))
        if free is None:
            free = self._profiles[at_ms, present] = self.future.free_at(at_ms)
            for each in present:
                free.take(each.footprint)
        return free


class Search:
    """Finds the earliest start of one job."""

    def __init__(
        self, standing: Standing, calendar: Calendar, outlook: Outlook, bookings: Sequence[Booking], job: Job
    ) -> None:
        self._standing = standing
        self._calendar = calendar
        self._outlook = outlook
        self._bookings = bookings
        self._job = job
        self._duration = duration_of(job, standing.policy.runtimes)

    def book(self) -> Booking | None:
        """The earliest start: at a place that is free for as long as the job may run."""
        for phase in self._phases():
            found = min(self._starts_in(phase), key=lambda start: start[0], default=None)
            if found is not None:
                return self._booking(*found)
        return None

    def book_at(self, at_ms: int) -> Booking | None:
        """A start at that moment, if it was the earliest before and only starts were made since that do not
        delay it: then it still is. Nothing if it is not known to be.
        """
        if depends_on_type(self._standing, self._job):
            return None
        request = self._standing.requests[self._job.id]
        phase = next(each for each in self._phases() if each.first_ms <= at_ms <= each.last_ms)
        room = _Room(self._standing, self._calendar, self._outlook, self._bookings, phase)
        place = room.place(request, at_ms)
        return None if place is None else self._booking(at_ms, place)

    def bound(self) -> int:
        """A moment before which it cannot start, by limits, devices and windows alone."""
        bounds = (self._bound(phase, *option) for phase in self._phases() for option in self._options())
        return next((bound for bound in bounds if bound < NEVER), NEVER)

    def _phases(self) -> Iterator[Phase]:
        cuts = {self._standing.now_ms + MOMENT_MS}
        for start, end in [
            *((booking.starts_at_ms, booking.stay.ends_at_ms) for booking in self._bookings),
            *((window.starts_at_ms, window.ends_at_ms) for window in self._calendar.windows),
        ]:
            cuts |= {start - self._duration + 1, start, end}
        firsts = sorted(cut for cut in cuts if self._standing.now_ms < cut < NEVER)
        for first, after in zip(firsts, [*firsts[1:], NEVER], strict=True):
            yield self._phase(first, after - 1)

    def _phase(self, first_ms: int, last_ms: int) -> Phase:
        met = [each for each in self._bookings if each.overlaps(first_ms, first_ms + self._duration)]
        return Phase(
            first_ms,
            last_ms,
            begun=tuple(booking for booking in met if booking.starts_at_ms <= first_ms),
            coming=tuple(booking for booking in met if booking.starts_at_ms > first_ms),
            windows=self._calendar.overlapping(first_ms, first_ms + self._duration),
        )

    def _options(self) -> Iterator[tuple[Request, str]]:
        """The request for each accelerator type that a limit tells apart; else as it is, for no one type."""
        request = self._standing.requests[self._job.id]
        if not depends_on_type(self._standing, self._job):
            yield request, ""
            return
        kind = request.kind
        for name in kind.types or self._standing.supply.types:
            one = kind_of(kind.shape, (name,), kind.required, kind.selectors, kind.group_workers)
            yield replace(request, kind=one), name

    def _starts_in(self, phase: Phase) -> Iterator[tuple[int, Place]]:
        room = _Room(self._standing, self._calendar, self._outlook, self._bookings, phase)
        for request, name in self._options():
            found = self._earliest(room, request, self._bound(phase, request, name), phase.last_ms)
            if found is not None:
                yield found

    def _bound(self, phase: Phase, request: Request, accelerator_type: str) -> int:
        """The first moment of the phase that limits and devices allow; NEVER if none of it is."""
        headroom = self._outlook.headroom
        bound = phase.first_ms
        begun = [booking.stay for booking in phase.begun]
        stays = [booking.stay for booking in self._bookings]
        for limit in bounds_of(self._standing, self._stay(phase.first_ms, accelerator_type)):
            used = (headroom.used(limit.scope, each.starts_at_ms, stays) for each in phase.coming)
            if any(amount + limit.wanted > limit.most for amount in used):
                return NEVER
            bound = max(bound, headroom.earliest(limit, begun))
        if bound > phase.last_ms:
            return NEVER
        bound = max(bound, self._first_with_devices(phase, request))
        return bound if bound <= phase.last_ms else NEVER

    def _first_with_devices(self, phase: Phase, request: Request) -> int:
        return self._outlook.future.earliest(
            request,
            last_ms=phase.last_ms,
            closed=self._calendar.closed_by(phase.windows),
            taken=tuple(booking.footprint for booking in (*phase.begun, *phase.coming)),
        )

    def _earliest(
        self, room: "_Room", request: Request, bound: int, last_ms: int
    ) -> tuple[int, Place] | None:
        """The bound if there is a place then; else the first later moment with one, by bisection."""
        if bound == NEVER:
            return None
        place = room.place(request, bound)
        if place is not None:
            return bound, place
        times = self._outlook.future.times()
        times = times[(times > bound) & (times <= last_ms)]
        first = bisect_left(times, True, key=lambda at_ms: room.place(request, int(at_ms)) is not None)
        if first == len(times):
            return None
        at_ms = int(times[first])
        place = room.place(request, at_ms)
        return None if place is None else (at_ms, place)

    def _booking(self, at_ms: int, place: Place) -> Booking:
        reservation = Reservation(
            job=self._job.id,
            placement=place.placement,
            accelerator_type=place.accelerator_type,
            starts_at_ms=at_ms,
            basis=self._outlook.tenures.basis(at_ms),
        )
        footprint = self._standing.footprint(self._job, place.placement)
        return Booking(reservation, self._stay(at_ms, place.accelerator_type), footprint)

    def _stay(self, at_ms: int, accelerator_type: str) -> Stay:
        ends_at_ms = min(at_ms + self._duration, NEVER)
        return Stay(self._job, self._job.total_milli, accelerator_type, at_ms, ends_at_ms)


class _Room:
    """What is free for all of a job's run, by its start inside one phase."""

    def __init__(
        self,
        standing: Standing,
        calendar: Calendar,
        outlook: Outlook,
        bookings: Sequence[Booking],
        phase: Phase,
    ) -> None:
        self._standing = standing
        self._calendar = calendar
        self._outlook = outlook
        self._bookings = bookings
        self._phase = phase

    def place(self, request: Request, at_ms: int) -> Place | None:
        """The best place for a start at that moment, if there is one."""
        return self._standing.placer.place(self._at(at_ms), request)

    def _at(self, at_ms: int) -> Free:
        free = self._outlook.future.free_at(at_ms, closed=self._closed)
        for booking in self._phase.begun:
            free.take(booking.footprint)
        for profile in self._profiles:
            free = least(free, profile)
        return free

    @cached_property
    def _closed(self) -> BoolArray | None:
        return self._calendar.closed_by(self._phase.windows)

    @cached_property
    def _profiles(self) -> list[Free]:
        return [self._outlook.profile(booking, self._bookings) for booking in self._phase.coming]


def least(one: Free, other: Free) -> Free:
    """What is free by both accounts, on the nodes that are open in the first."""
    return Free(
        devices=np.minimum(one.devices, other.devices),
        cpus=np.minimum(one.cpus, other.cpus),
        memory=np.minimum(one.memory, other.memory),
        open_nodes=one.open,
    )
