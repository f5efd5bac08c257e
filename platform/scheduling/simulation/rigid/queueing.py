"""Baselines that never evict: FIFO, FIFO with backfill (with and without a reservation), shortest first."""

import heapq
from collections.abc import Callable

from scheduling.simulation.rigid.fleet import best_fit
from scheduling.simulation.rigid.replay import Decision, Quiet, State
from scheduling.simulation.rigid.runs import Place, Run

Key = Callable[[Run], int]


def by_arrival(run: Run) -> int:
    """First come, first served."""
    return run.job.submitted_ms


def by_runtime(run: Run) -> int:
    """Shortest job first, with an oracle."""
    return run.job.runtime_ms - run.done_ms


class InOrder(Quiet):
    """Starts jobs in a fixed order. `skips`: one that does not fit lets those behind it pass, and may starve.

    Jobs of one size fit alike, so each size has its own line: a decision looks at the heads of the lines.
    """

    def __init__(self, key: Key, *, skips: bool) -> None:
        self._key = key
        self._skips = skips
        self._lines: dict[int, list[tuple[int, int, Run]]] = {}

    def submitted(self, run: Run) -> None:
        """It joins the line of its size."""
        line = self._lines.setdefault(run.job.num_devices, [])
        heapq.heappush(line, (self._key(run), run.job.number, run))

    def stopped(self, run: Run) -> None:
        """Back into the line, at the place that its key gives."""
        self.submitted(run)

    def decide(self, state: State, now_ms: int) -> Decision:  # noqa: ARG002
        """Starts whoever fits, the first in order first."""
        free, starts = list(state.fleet.free), []
        heads = [line[0] for line in self._lines.values() if line]
        heapq.heapify(heads)
        while heads:
            run = heads[0][2]
            place = best_fit(free, run.job, per_node=state.fleet.per_node)
            if place is not None:
                starts.append((run, place))
                take(free, place)
                heapq.heappop(self._lines[run.job.num_devices])
            elif not self._skips:
                break
            heapq.heappop(heads)
            line = self._lines[run.job.num_devices]
            if place is not None and line:
                heapq.heappush(heads, line[0])
        return Decision(starts=starts)


class Easy(Quiet):
    """EASY backfill (Lifka, JSSPP 1995): the first job that cannot start gets a reservation at the earliest
    time, by the limits of those that run; one behind may start if it ends before or holds other devices.
    """

    def decide(self, state: State, now_ms: int) -> Decision:
        """Starts in order of arrival, then what cannot delay the first one that has to wait."""
        free, starts = list(state.fleet.free), []
        per_node = state.fleet.per_node
        reserved: tuple[int, list[int]] | None = None
        for run in sorted(state.waiting.values(), key=lambda run: run.job.number):
            room = free
            if reserved is not None and not _ends_by(run, reserved[0], now_ms, state):
                room = reserved[1]
            place = best_fit(room, run.job, per_node=per_node)
            if place is not None:
                starts.append((run, place))
                take(free, place)
                if reserved is not None:
                    take(reserved[1], place)
            elif reserved is None:
                reserved = self._reserve(run, state, starts, free, now_ms)
            if not any(free):
                break
        return Decision(starts=starts)

    def _reserve(
        self, head: Run, state: State, starts: list[tuple[Run, Place]], free: list[int], now_ms: int
    ) -> tuple[int, list[int]] | None:
        """When the head can start, and what is free now beside its devices (at times below zero)."""
        ends = [(_limit_ends(run, now_ms, state), run.place) for run in state.running.values()]
        ends += [(_limit_ends(run, now_ms, state), place) for run, place in starts]
        then = list(free)
        for time_ms, place in sorted(ends, key=lambda end: end[0]):
            for node, devices in place:
                then[node] += devices
            held = best_fit(then, head.job, per_node=state.fleet.per_node)
            if held is not None:
                beside = list(free)
                for node, devices in held:
                    beside[node] = min(free[node], then[node] - devices)
                return time_ms, beside
        return None


def take(free: list[int], place: Place) -> None:
    """Give these devices away."""
    for node, devices in place:
        free[node] -= devices


def _limit_ends(run: Run, now_ms: int, state: State) -> int:
    """When a job ends at the latest that runs, or starts now."""
    if run.job.limit_ms is None:
        raise ValueError("EASY backfill needs limits")
    restart_ms = state.rules.restart_ms if run.num_starts else 0
    ready_ms = run.ready_ms if run.is_running else now_ms + restart_ms
    return ready_ms + run.job.limit_ms - run.done_ms


def _ends_by(run: Run, time_ms: int, now_ms: int, state: State) -> bool:
    return _limit_ends(run, now_ms, state) <= time_ms
