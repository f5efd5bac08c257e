"""The clock of a replay: events, then a decision, again and again until every job has ended.

Events (a job ends, a node fails or recovers, a job is submitted) happen at their own time. Decisions come
right then (`round_ms` 0) or at the next multiple of the round; rounds in which nothing can have changed are
left out. Whoever is evicted saves at once: it loses no progress, but its next start costs `restart_ms` during
which it holds its devices for nothing. Whoever loses a node loses what it did since its last checkpoint too.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

from scheduling.simulation.rigid.fleet import Fleet
from scheduling.simulation.rigid.runs import Place, RigidJob, Run
from scheduling.simulation.traces import no_clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What holds for every policy alike."""

    round_ms: int = 0
    restart_ms: int = 0
    checkpoint_ms: int = 600_000

    def decided_at(self, time_ms: int) -> int:
        """When something that happens at this time is acted upon."""
        return time_ms if not self.round_ms else -(-time_ms // self.round_ms) * self.round_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A node is down from the one time to the other."""

    node: int
    starts_ms: int
    ends_ms: int


@dataclass(frozen=True, slots=True)
class Decision:
    """Who leaves, then who starts where."""

    evictions: Sequence[Run] = ()
    starts: Sequence[tuple[Run, Place]] = ()


@dataclass(slots=True)
class State:
    """All that a scheduler sees, by the numbers of the jobs. `waiting` is in no special order."""

    fleet: Fleet
    rules: Rules
    waiting: dict[int, Run] = field(default_factory=dict)
    running: dict[int, Run] = field(default_factory=dict)


class Scheduler(Protocol):
    """A policy. It hears of whatever happens, and decides when it is asked."""

    def submitted(self, run: Run) -> None:
        """A new job waits."""

    def stopped(self, run: Run) -> None:
        """A job lost its devices to a failure and waits again."""

    def ended(self, run: Run) -> None:
        """A job is done."""

    def decide(self, state: State, now_ms: int) -> Decision:
        """What to do now."""

    def next_change_ms(self, state: State, now_ms: int) -> int | None:
        """When it would decide otherwise although nothing happened."""


class Quiet:
    """A scheduler that looks at the state alone and changes its mind at events only."""

    def submitted(self, run: Run) -> None:
        """The state tells it."""

    def stopped(self, run: Run) -> None:
        """The state tells it."""

    def ended(self, run: Run) -> None:
        """The state tells it."""

    def next_change_ms(self, state: State, now_ms: int) -> int | None:  # noqa: ARG002
        """Never."""
        return None


class _Kind(IntEnum):
    """In the order in which events of equal time happen."""

    END = 0
    FAIL = 1
    RECOVER = 2
    SUBMIT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """How it went: the jobs, and the seconds that each decision took."""

    runs: tuple[Run, ...]
    decision_s: tuple[float, ...]


def replay(
    jobs: Iterable[RigidJob],
    scheduler: Scheduler,
    *,
    fleet: Fleet,
    rules: Rules,
    outages: Iterable[Outage] = (),
    clock: Callable[[], float] = no_clock,
    observe: Callable[[State, int], None] | None = None,
) -> Replayed:
    """Runs the jobs to their ends; `observe` sees the state after each decision."""
    loop = _Loop(scheduler, State(fleet, rules))
    runs = tuple(Run(job) for job in jobs)
    loop.expect(runs, outages)
    decision_s = []
    while loop.num_left:
        now_ms = loop.advance()
        began = clock()
        decision = scheduler.decide(loop.state, now_ms)
        decision_s.append(clock() - began)
        loop.carry_out(decision, now_ms)
        if observe is not None:
            observe(loop.state, now_ms)
    return Replayed(runs=runs, decision_s=tuple(decision_s))


class _Loop:
    """The events to come. An end is void when the job has started again since it was foreseen."""

    def __init__(self, scheduler: Scheduler, state: State) -> None:
        self._scheduler = scheduler
        self._events: list[tuple[int, _Kind, int, int]] = []
        self._runs: dict[int, Run] = {}
        self.state = state
        self.num_left = 0
        self._now_ms = 0

    def expect(self, runs: Sequence[Run], outages: Iterable[Outage]) -> None:
        """All submissions and outages to come."""
        self._runs = {run.job.number: run for run in runs}
        self.num_left = len(runs)
        self._events = [(run.job.submitted_ms, _Kind.SUBMIT, run.job.number, 0) for run in runs]
        for outage in outages:
            self._events.append((outage.starts_ms, _Kind.FAIL, outage.node, 0))
            self._events.append((outage.ends_ms, _Kind.RECOVER, outage.node, 0))
        heapq.heapify(self._events)

    def advance(self) -> int:
        """Lets everything happen up to the next decision, and returns its time."""
        rules = self.state.rules
        times = [rules.decided_at(self._events[0][0])] if self._events else []
        change_ms = self._scheduler.next_change_ms(self.state, self._now_ms)
        if change_ms is not None:
            times.append(rules.decided_at(max(change_ms, self._now_ms + 1)))
        if not times:
            raise ValueError(f"{self.num_left} jobs can never start")
        self._now_ms = min(times)
        while self._events and self._events[0][0] <= self._now_ms:
            self._happen(*heapq.heappop(self._events))
        return self._now_ms

    def _happen(self, time_ms: int, kind: _Kind, number: int, attempt: int) -> None:
        match kind:
            case _Kind.END:
                run = self._runs[number]
                if run.is_running and run.num_starts == attempt:
                    self._end(run, time_ms)
            case _Kind.FAIL:
                self._fail(number, time_ms)
            case _Kind.RECOVER:
                self.state.fleet.recover(number)
            case _Kind.SUBMIT:
                self.state.waiting[number] = self._runs[number]
                self._scheduler.submitted(self._runs[number])

    def _end(self, run: Run, time_ms: int) -> None:
        self._free(run, time_ms, kept_ms=run.job.runtime_ms)
        run.ended_ms = time_ms
        self.num_left -= 1
        self._scheduler.ended(run)

    def _fail(self, node: int, time_ms: int) -> None:
        for run in list(self.state.running.values()):
            if any(node == held for held, _ in run.place):
                fresh_ms = (run.progress_ms(time_ms) - run.done_ms) % self.state.rules.checkpoint_ms
                self._free(run, time_ms, kept_ms=run.progress_ms(time_ms) - fresh_ms)
                self.state.waiting[run.job.number] = run
                self._scheduler.stopped(run)
        self.state.fleet.fail(node)

    def _free(self, run: Run, time_ms: int, *, kept_ms: int) -> None:
        self.state.fleet.give(run.place)
        run.stop(now_ms=time_ms, kept_ms=kept_ms)
        del self.state.running[run.job.number]

    def carry_out(self, decision: Decision, now_ms: int) -> None:
        """Evicts, then starts."""
        for run in decision.evictions:
            self._free(run, now_ms, kept_ms=run.progress_ms(now_ms))
            self.state.waiting[run.job.number] = run
        for run, place in decision.starts:
            del self.state.waiting[run.job.number]
            self.state.fleet.take(place)
            run.start(place, now_ms=now_ms, restart_ms=self.state.rules.restart_ms)
            self.state.running[run.job.number] = run
            heapq.heappush(self._events, (run.ends_ms, _Kind.END, run.job.number, run.num_starts))
