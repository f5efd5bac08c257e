"""Baselines that evict: shortest remaining time first with an oracle, and least attained service by levels.

Both walk over all jobs in the order of their rank, first come first among equals. A running job keeps its
place; one that waits takes free devices, else those of whoever is ranked worst. One that does not fit is
passed over.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence

from scheduling.simulation.rigid.fleet import pick
from scheduling.simulation.rigid.levels import Levels
from scheduling.simulation.rigid.replay import Decision, Quiet, State
from scheduling.simulation.rigid.runs import Place, Run


class Ranked(Quiet, ABC):
    """Whoever has the lower rank has the better right, to devices that others hold too."""

    @abstractmethod
    def rank(self, run: Run, now_ms: int) -> int:
        """The rank of a job now."""

    def decide(self, state: State, now_ms: int) -> Decision:
        """One walk."""
        if not state.waiting:
            return Decision()
        everyone = [*state.running.values(), *state.waiting.values()]
        everyone.sort(key=lambda run: self.turn(run, now_ms))
        return _Walk(state, everyone).decision()

    def turn(self, run: Run, now_ms: int) -> tuple[int, bool, int]:
        """Its place among all: by rank, then first come."""
        return self.rank(run, now_ms), False, run.job.number


class ShortestRemaining(Ranked):
    """Shortest remaining time first, with an oracle: a bound that nobody without one is held to."""

    def rank(self, run: Run, now_ms: int) -> int:
        """What is left to do."""
        return run.job.runtime_ms - run.progress_ms(now_ms)


class LeastAttained(Ranked):
    """Least attained service (Tiresias, Gu et al., NSDI'19): level 1 begins at `quantum_ms` (devices x time
    held), each next one at double. Inside a level first come, first served; `runs_on`: running ones first.
    """

    def __init__(self, *, num_levels: int, quantum_ms: int, runs_on: bool = False) -> None:
        self._levels = Levels(num_levels=num_levels, quantum_ms=quantum_ms)
        self._runs_on = runs_on

    def turn(self, run: Run, now_ms: int) -> tuple[int, bool, int]:
        """The level, then whoever runs if that is the rule, then first come."""
        return self.rank(run, now_ms), self._runs_on and not run.place, run.job.number

    def rank(self, run: Run, now_ms: int) -> int:
        """The level."""
        return self._levels.of(run, now_ms)

    def next_change_ms(self, state: State, now_ms: int) -> int | None:
        """When the next running job falls to or below the level of somebody who waits, maybe for longer."""
        wanted = {self.rank(run, now_ms) for run in state.waiting.values()}
        wanted |= {level - 1 for level in wanted if level}
        return self._levels.next_fall_ms(state.running.values(), wanted, now_ms)


class _Walk:
    """One walk. `later[node]` are the running jobs there that the walk has not come to, best rank first."""

    def __init__(self, state: State, everyone: Sequence[Run]) -> None:
        self._everyone = everyone
        self._per_node = state.fleet.per_node
        self._free = list(state.fleet.free)
        self._room = [self._per_node if up else 0 for up in state.fleet.is_up]
        self._position = {run.job.number: index for index, run in enumerate(everyone)}
        self._later: list[deque[tuple[Run, int]]] = [deque() for _ in self._free]
        for run in everyone:
            for node, devices in run.place:
                self._later[node].append((run, devices))
        self._evicted: dict[int, Run] = {}
        self._starts: list[tuple[Run, Place]] = []

    def decision(self) -> Decision:
        """Everybody in turn, until no device is left that anyone could take."""
        num_left, failed = sum(self._room), set[int]()
        for run in self._everyone:
            if num_left <= 0:
                break
            size = run.job.num_devices
            if run.is_running:
                num_left -= size if self._stay(run) else 0
            elif size <= num_left and size not in failed:
                place = pick(self._room, run.job, per_node=self._per_node, cost=self._cost_of(run))
                if place is None:  # room only shrinks, so nobody of this size will fit
                    failed.add(size)
                else:
                    self._start(run, place)
                    num_left -= size
        return Decision(list(self._evicted.values()), self._starts)

    def _stay(self, run: Run) -> bool:
        if run.job.number in self._evicted:
            return False
        for node, devices in run.place:
            self._later[node].popleft()
            self._room[node] -= devices
        return True

    def _cost_of(self, run: Run) -> Callable[[int], tuple[int, ...]]:
        """Free devices first, on the fullest node; else those whose holder has the worst rank."""
        wanted = run.job.worker_devices(self._per_node)
        num_workers = run.job.num_devices // wanted

        def cost(node: int) -> tuple[int, ...]:
            if self._free[node] >= wanted:
                return 0, -min(self._free[node] // wanted, num_workers), self._room[node]
            return 1, -self._best_victim(node, wanted), self._room[node]

        return cost

    def _best_victim(self, node: int, wanted: int) -> int:
        """The position of the best-ranked job that would have to leave this node."""
        freed = self._free[node]
        for run, devices in reversed(self._later[node]):
            freed += devices
            if freed >= wanted:
                return self._position[run.job.number]
        return -1

    def _start(self, run: Run, place: Place) -> None:
        for node, devices in place:
            while self._free[node] < devices:
                self._evict(self._later[node][-1][0])
            self._free[node] -= devices
            self._room[node] -= devices
        self._starts.append((run, place))

    def _evict(self, victim: Run) -> None:
        self._evicted[victim.job.number] = victim
        for node, devices in victim.place:
            self._later[node].remove((victim, devices))
            self._free[node] += devices
