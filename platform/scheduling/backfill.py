"""Who may start now without delaying a reservation or meeting a maintenance window.

Reservations are made during a sweep, in order of turn, for the first jobs that cannot start. A job behind
picks its *view* by its end: what is free now and also when each reservation that begins before that end
begins, less the nodes of the windows that it would meet. A job that nobody knows the end of meets them all.
"""

from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np

from scheduling.amounts import Kind, Request
from scheduling.ends import NEVER, duration_of, end_of
from scheduling.headroom import Bound, Scope, Stay, amount_in, bounds_of
from scheduling.model import Job, JobId, JobPhase, Placement, Window
from scheduling.placement import Place
from scheduling.reservations import Booking, Outlook, Search
from scheduling.snapshot import Snapshot
from scheduling.standing import Standing
from scheduling.supply import BoolArray, Footprint, Free, IntArray
from scheduling.windows import Calendar

Met = tuple[int, tuple[Window, ...]]  # how many of the reservations, by start, and which windows

NOT_SYNCED = -1
NUM_TRIES = 4  # for each reservation: some jobs wait for others that nobody knows the end of


@dataclass(slots=True)
class View:
    """What jobs that end before some moment may use now, and the most workers of a kind seen in it."""

    free: Free
    profiles: list[Free]
    closed: BoolArray | None
    most: dict[Kind, int] = field(default_factory=dict)


class Backfill:
    """The reservations and views of one `decide`."""

    def __init__(self, standing: Standing, snapshot: Snapshot) -> None:
        self._standing = standing
        usable = standing.real.open
        self._calendar = Calendar(snapshot.windows, standing.supply, usable, now_ms=standing.now_ms)
        closed = self._calendar.closed_by(self._calendar.overlapping(standing.now_ms, standing.now_ms + 1))
        if closed is not None:
            standing.close(closed)
        self._outlook: Outlook | None = None
        self._turns: list[Job] = []  # for whom a reservation was sought
        self._found: dict[tuple[object, ...], tuple[int, Booking | None]] = {}  # in earlier sweeps
        self._synced_at = NOT_SYNCED
        self._profiles: dict[JobId, Free] = {}
        self._views: dict[Met, View] = {}
        self._started: list[Stay] = []  # since the outlook was made
        self._used_then: dict[tuple[Scope, Booking], int] = {}
        self.bookings: list[Booking] = []  # by start
        self._starts: list[int] = []
        self.num_made = 0  # counts the changes of what is reserved

    @property
    def usable(self) -> BoolArray:
        """The healthy nodes, those in maintenance included."""
        return self._calendar.usable

    @property
    def binds(self) -> bool:
        """Whether there is any reservation or window to meet."""
        return bool(self.bookings or self._calendar.windows)

    def begin_sweep(self) -> None:
        """Reservations are made anew: what they stand on has changed."""
        self._turns = []
        self.bookings, self._starts = [], []
        self.num_made += 1
        self._synced_at = NOT_SYNCED

    def room_for(self, job: Job) -> Free | None:
        """What the job may use now; nothing if its gang does not fit there or a reserved limit forbids it."""
        bookings, windows = self._met(job)
        if not bookings and not windows:
            return self._standing.now
        if not self._within_limits(self._stay(job, ""), bookings):
            return None
        view = self._view(len(bookings), windows)
        return view.free if self._holds(view, self._standing.requests[job.id]) else None

    def free_for(self, job: Job) -> Free:
        """What the job may use now, whether it fits there or not."""
        bookings, windows = self._met(job)
        return self._view(len(bookings), windows).free if bookings or windows else self._standing.now

    def open_for(self, job: Job) -> Free:
        """What is free now on nodes that no window closes before the job ends."""
        windows = self._met(job)[1]
        return self._view(0, windows).free if windows else self._standing.now

    def allows(self, job: Job, place: Place, *, by_right: bool = False) -> bool:
        """Whether the job, started now at this place, meets no window and delays no reservation. What it
        takes by right from another queue's surplus may delay those.
        """
        bookings, windows = self._met(job)
        if not bookings and not windows:
            return True
        footprint = self._standing.footprint(job, place.placement)
        if not self._is_open(footprint, windows):
            return False
        near = [each for each in bookings if np.isin(footprint.nodes, each.footprint.nodes).any()]
        stay = self._stay(job, place.accelerator_type)
        if by_right or not (near or self._shares_limit(stay, bookings)):
            return True
        self._sync()
        is_spare = all(self._profiles[each.reservation.job].has(footprint) for each in near)
        return is_spare and self._within_limits(stay, bookings)

    def allows_growth(self, job: Job, joiners: Placement) -> bool:
        """Whether limits leave room for these further workers beside the reservations; `free_for` says where
        they may be.
        """
        return self._within_limits(self._growth(job, joiners), self._met(job)[0])

    def started(self, job: Job, place: Place) -> None:
        """The job starts in this plan, where it was allowed to."""
        self._note(self._stay(job, place.accelerator_type), place.placement)

    def grew(self, job: Job, joiners: Placement) -> None:
        """The job grows in this plan by these workers, where it was allowed to."""
        self._note(self._growth(job, joiners), joiners)

    def book_again(self) -> None:
        """The same reservations once more, if anything has changed since: another place may be better now."""
        jobs = list(self._turns)
        if jobs and (self._outlook is None or self._outlook.version != self._standing.version):
            self.begin_sweep()
            for job in jobs:
                self.reserve(job)

    @property
    def is_full(self) -> bool:
        """Whether no further reservation is sought."""
        limit = self._standing.policy.num_reservations
        return len(self.bookings) >= limit or len(self._turns) >= limit * NUM_TRIES

    def reserve(self, job: Job) -> None:
        """Gives a job that cannot start its earliest start at a place, if it is among the first of them."""
        if self.is_full:
            return
        self._turns.append(job)
        booking = self._book(job)
        if booking is not None:
            self.bookings.append(booking)
            self.bookings.sort(key=lambda each: (each.starts_at_ms, each.reservation.job))
            self._starts = [each.starts_at_ms for each in self.bookings]
            self.num_made += 1
            self._synced_at = NOT_SYNCED

    def _book(self, job: Job) -> Booking | None:
        """The earliest start. As long as nothing has eased since an earlier sweep found one beside the same
        reservations, the time is the same, and so is the place if nothing has changed at all.
        """
        standing = self._standing
        state = (
            standing.eased,
            len(standing.keeps),
            job.id,
            tuple(each.reservation for each in self.bookings),
        )
        version, known = self._found.get(state, (standing.version, None))
        booking = known if version == standing.version else None
        if booking is None and known is not None:
            booking = self.search(job).book_at(known.starts_at_ms)
        booking = booking or self.search(job).book()
        self._found[state] = (standing.version, booking)
        return booking

    def search(self, job: Job) -> Search:
        """The search for the job's earliest start beside what is reserved."""
        return Search(self._standing, self._calendar, self.outlook(), self.bookings, job)

    def bound(self, job: Job) -> int:
        """A moment before which the job cannot start, whatever is reserved."""
        return Search(self._standing, self._calendar, self.outlook(), (), job).bound()

    def outlook(self) -> Outlook:
        """What is believed of the future as things stand."""
        if self._outlook is None or self._outlook.version != self._standing.version:
            self._outlook = Outlook(self._standing, self._calendar)
            self._synced_at = NOT_SYNCED
        return self._outlook

    def met_by(self, job: Job) -> Met:
        """What the job would meet if it started now: jobs that meet the same have the same view."""
        bookings, windows = self._met(job)
        return len(bookings), windows

    def is_open(self, job: Job, placement: Placement) -> bool:
        """Whether the job, started now at this place, meets no window."""
        windows = self._met(job)[1]
        return not windows or self._is_open(self._standing.footprint(job, placement), windows)

    def blocker_of(self, job: Job) -> Booking | None:
        """The first reservation to begin that keeps the job from starting: ending before it, it could."""
        bookings, windows = self._met(job)
        if any(booking.reservation.job == job.id for booking in bookings):
            return next((booking for booking in bookings if booking.reservation.job != job.id), None)
        request = self._standing.requests[job.id]
        bounds = list(bounds_of(self._standing, self._stay(job, ""))) if bookings else []
        for number, booking in enumerate(bookings, start=1):
            if not self._spares(bounds, booking) or not self._holds(self._view(number, windows), request):
                return booking
        return None

    def _met(self, job: Job) -> tuple[list[Booking], tuple[Window, ...]]:
        """The reservations and windows that begin before the job ends, if it starts now or has started."""
        if not self.bookings and not self._calendar.windows:
            return [], ()
        ends_at_ms = self._end_of(job)
        bookings = self.bookings[: bisect_left(self._starts, ends_at_ms)]
        return bookings, self._calendar.overlapping(self._standing.now_ms, ends_at_ms)

    def _end_of(self, job: Job) -> int:
        now_ms, runtimes = self._standing.now_ms, self._standing.policy.runtimes
        if job.phase is JobPhase.PLACED:
            return end_of(job, now_ms=now_ms, runtimes=runtimes)
        return min(now_ms + duration_of(job, runtimes), NEVER)

    def _stay(self, job: Job, accelerator_type: str) -> Stay:
        now_ms = self._standing.now_ms
        return Stay(job, job.total_milli, accelerator_type, now_ms, self._end_of(job))

    def _growth(self, job: Job, joiners: Placement) -> Stay:
        supply, amount = self._standing.supply, len(joiners) * job.accelerators_milli
        name = supply.types[supply.type_at(joiners)] if amount else ""
        return Stay(job, amount, name, self._standing.now_ms, self._end_of(job), num_jobs=0)

    def _note(self, stay: Stay, placement: Placement) -> None:
        """Everything known goes on, less what was taken just now."""
        if self._synced_at != self._standing.version - 1:
            return
        footprint = self._standing.footprint(stay.job, placement)
        self._started.append(stay)
        self._used_then = {}
        for booking in self.bookings:
            if booking.starts_at_ms < stay.ends_at_ms:
                self._profiles[booking.reservation.job].take(footprint)
        for view in self._views.values():
            self._settle(view, footprint.touched())
        self._synced_at = self._standing.version

    def _shares_limit(self, stay: Stay, bookings: list[Booking]) -> bool:
        """Whether some limit bounds both the stay and one of these reservations."""
        return any(
            amount_in(self._standing, bound.scope, booking.stay)
            for bound in bounds_of(self._standing, stay)
            for booking in bookings
        )

    def _within_limits(self, stay: Stay, bookings: list[Booking]) -> bool:
        """Whether every limit has room for the stay beside each of these reservations when it begins."""
        bounds = list(bounds_of(self._standing, stay)) if bookings else []
        return not bounds or all(self._spares(bounds, booking) for booking in bookings)

    def _spares(self, bounds: list[Bound], booking: Booking) -> bool:
        """Whether all these bounds have room beside one reservation when it begins."""
        return all(self._used(bound.scope, booking) + bound.wanted <= bound.most for bound in bounds)

    def _used(self, scope: Scope, booking: Booking) -> int:
        """What is used of a scope when a reservation begins; nothing of one that it does not count in."""
        headroom, key = self._sync().headroom, (scope, booking)
        if key not in self._used_then:
            stays = [*self._started, *(each.stay for each in self.bookings)]
            is_inside = amount_in(self._standing, scope, booking.stay) > 0
            used = headroom.used(scope, booking.starts_at_ms, stays) if is_inside else 0
            self._used_then[key] = used
        return self._used_then[key]

    def _is_open(self, footprint: Footprint, windows: tuple[Window, ...]) -> bool:
        closed = self._calendar.closed_by(windows)
        return closed is None or not closed[footprint.nodes].any()

    def _sync(self) -> Outlook:
        """The outlook, with a profile for each reservation; anew if anything but noted starts happened."""
        if self._outlook is None or self._synced_at != self._standing.version:
            outlook = self.outlook()
            self._profiles = {
                each.reservation.job: outlook.profile(each, self.bookings).copy() for each in self.bookings
            }
            self._views, self._started, self._used_then = {}, [], {}
            self._synced_at = self._standing.version
            return outlook
        return self._outlook

    def _holds(self, view: View, request: Request) -> bool:
        """What held the most when last counted cannot hold more as long as things are only taken."""
        most = view.most.get(request.kind, request.num_workers)
        if most >= request.num_workers:
            most = view.most[request.kind] = self._standing.placer.most_workers(view.free, request.kind)
        return most >= request.num_workers

    def _view(self, num_bookings: int, windows: tuple[Window, ...]) -> View:
        self._sync()
        key = (num_bookings, windows)
        if key not in self._views:
            profiles = [self._profiles[each.reservation.job] for each in self.bookings[:num_bookings]]
            self._views[key] = self._make_view(profiles, self._calendar.closed_by(windows))
        return self._views[key]

    def _make_view(self, profiles: list[Free], closed: BoolArray | None) -> View:
        now = self._standing.now
        devices, cpus, memory = now.devices.copy(), now.cpus.copy(), now.memory.copy()
        for profile in profiles:
            np.minimum(devices, profile.devices, out=devices)
            np.minimum(cpus, profile.cpus, out=cpus)
            np.minimum(memory, profile.memory, out=memory)
        if closed is not None:
            devices[closed] = 0
        open_nodes = now.open if closed is None else now.open & ~closed
        free = Free(devices=devices, cpus=cpus, memory=memory, open_nodes=open_nodes)
        return View(free, profiles, closed)

    def _settle(self, view: View, nodes: IntArray) -> None:
        """On these nodes, the view is the smallest of the accounts that it is made of."""
        free, accounts = view.free, [self._standing.now, *view.profiles]
        free.devices[nodes] = np.minimum.reduce([each.devices[nodes] for each in accounts])
        free.cpus[nodes] = np.minimum.reduce([each.cpus[nodes] for each in accounts])
        free.memory[nodes] = np.minimum.reduce([each.memory[nodes] for each in accounts])
        if view.closed is not None:
            free.devices[nodes[view.closed[nodes]]] = 0
        free.recount(nodes)
