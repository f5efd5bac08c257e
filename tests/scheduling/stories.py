"""Random cases: a small cluster, a queue tree, and events of every kind, from a seed."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

Value = TypeVar("Value")
Row = dict[str, Any]

POLICIES = (
    "",
    "",
    "reserve: the first job that cannot start",
    "reserve 3: the first jobs",
    "strict: in order",
)


class Storyteller:
    """Tells one story for each seed."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def story(self, *, most_events: int = 25) -> Row:
        """A whole case that expects nothing yet."""
        nodes = [self._node(number) for number in range(self._between(2, 5))]
        return {
            "id": "story",
            "cluster": {"nodes": nodes, "policy": self._one_of(POLICIES)},
            "queues": self._queues(),
            "events": self._events(nodes, self._between(5, most_events)),
            "expect": {},
        }

    def _node(self, number: int) -> Row:
        types = self._one_of(("X", "X", "Y"))
        return {
            "name": f"n{number}",
            "gpus": self._one_of((2, 4, 4, 8)),
            "cpus": 16,
            "rack": f"r{number % 2}",
            "type": types,
        }

    def _queues(self) -> list[Row]:
        limit: Any = {"X": 4} if self._happens(0.3) else None
        return [
            {"name": "P", "limit": self._between(6, 20)},
            {"name": "A", "parent": "P", "guarantee": self._between(0, 8)},
            {"name": "B", "parent": "P", "guarantee": self._between(0, 6), "weight": 2},
            {"name": "C", "guarantee": self._between(0, 6), "limit": limit},
        ]

    def _events(self, nodes: Sequence[Row], num_events: int) -> list[Row]:
        events: list[Row] = []
        jobs: list[Row] = []
        t = 0
        for number in range(num_events):
            t += self._between(0, 11)
            if not jobs or self._happens(0.6):
                jobs.append(self._job(number))
                events.append({"t": t, "op": "submit", "job": jobs[-1]})
            elif self._happens(0.5):
                op = self._one_of(("fail", "recover", "drain", "undrain", "recover"))
                events.append({"t": t, "op": op, "node": self._one_of(nodes)["name"]})
            else:
                events.append({"t": t, **self._change(self._one_of(jobs))})
        return events

    def _job(self, number: int) -> Row:
        gpus = self._one_of((0.5, 1, 1, 2, 4))
        job: Row = {
            "name": f"j{number}",
            "queue": self._one_of(("A", "B", "C")),
            "prio": self._one_of((0, 0, 5, 9)),
            "gpus": gpus,
            "grace": self._one_of((0, 0, 3, 20)),
            "runtime": self._one_of((None, self._between(1, 60))),
            "limit": self._one_of((None, self._between(1, 80))),
            "cpus": self._one_of((0, 0, self._between(1, 4))),
            "preemptible": self._happens(0.8),
            "types": self._one_of(((), (), ("X",), ("Y",), ("X", "Y"), ("Y", "X"))),
        }
        if gpus >= 1 and self._happens(0.35):
            least = self._between(1, 2)
            job |= {"min": least, "max": least + self._between(1, 4)}
        elif gpus >= 1:
            job["pods"] = self._one_of((1, 1, 2, 3, 5))
        if self._happens(0.25):
            kind, level = self._one_of(("required", "preferred")), self._one_of(("rack", "node", "link"))
            job["topology"] = {kind: level}
        return job

    def _change(self, job: Row) -> Row:
        op = self._one_of(("restart", "cancel", "want"))
        if op == "want" and "max" in job:
            return {"op": op, "job": job["name"], "n": self._between(1, 6)}
        return {"op": "restart" if op == "want" else op, "job": job["name"]}

    def _between(self, low: int, high: int) -> int:
        return int(self._random.integers(low, high + 1))

    def _happens(self, share: float) -> bool:
        return bool(self._random.random() < share)

    def _one_of(self, values: Sequence[Value]) -> Value:
        return values[int(self._random.integers(len(values)))]
