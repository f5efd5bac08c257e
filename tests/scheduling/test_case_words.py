"""What cases say in words: every pattern, true and false, on one small story."""

from functools import cache
from typing import Any

import pytest

from scheduling.cases.cluster import VirtualCluster
from scheduling.cases.document import read_case
from scheduling.cases.groups import PhraseError, Scene
from scheduling.cases.places import runs_there
from scheduling.cases.sentences import always_problem, holds

END = 40


def job(name: str, **fields: Any) -> dict[str, Any]:
    """A job of queue Q."""
    return {"name": name, "queue": "Q", **fields}


STORY = {
    # H evicts L1 at 10 and runs on a1 until 30, when L1 comes back; the gang x and the elastic E stay on b1.
    "cluster": {
        "nodes": [
            {"name": "a1", "gpus": 4, "rack": "A"},
            {"name": "a2", "gpus": 4, "rack": "A"},
            {"name": "b1", "gpus": 4, "rack": "B"},
            {"name": "b2", "gpus": 4, "rack": "B", "health": "down"},
        ]
    },
    "queues": [
        {"name": "P", "limit": 12},
        {"name": "Q", "parent": "P", "guarantee": 8},
        {"name": "R", "parent": "P", "guarantee": 4},
    ],
    "events": [
        {"t": 0, "op": "running", "job": job("L1", gpus=4), "on": ["a1"]},
        {"t": 0, "op": "running", "job": job("L2", gpus=4, prio=1), "on": ["a2"]},
        {"t": 0, "op": "running", "job": job("x1", queue="R", pods=2), "on": ["b1", "b1"]},
        {"t": 0, "op": "running", "job": job("E", queue="R", min=1, max=2), "on": ["b1", "b1"]},
        {"t": 10, "op": "submit", "job": job("H", gpus=4, prio=10, runtime=20)},
        {"t": 12, "op": "submit", "job": job("big", pods=3, gpus=4)},
    ],
    "expect": {},
}


@cache
def scene() -> Scene:
    """The story, played to its end."""
    case = read_case(STORY)
    cluster = VirtualCluster(case)
    cluster.run(until=END)
    return Scene(case, cluster.history)


ALWAYS_TRUE = (
    "L2 runs throughout",
    "L2 and x1 keep running",
    "L2, x1 and E run throughout",
    "L2 runs throughout on a2",
    "the job on a2 and the two on b1 run throughout",
    "between t=10 and t=30 L1 does not run",
    "between t=10 and t=30, H runs and L1 waits",
    "from t=30 on L1 still runs on a1",
    "before t=10 H does not run",
    "before t=10 L1 runs on a1",
    "at t=10 H starts",
    "after t=30 H has gone",
    "big never starts",
    "big never runs",
    "after t=12 big is pending",
    "L2 is never evicted",
    "exactly one of L1, L2 is evicted",
    "one of L1, L2 and x1 was evicted",
    "none of L2, x1 was evicted",
    "at most one of L1, H runs at any time",
    "at least one of L1, H runs",
    "H and L1 never run together",
    "b2 runs nothing",
    "node b2 is never used",
    "nothing runs on b2",
    "nothing starts on rack B",
    "between t=11 and t=30 nothing new starts on a1 and a2",
    "H never runs on rack B",
    "x1 stays on b1",
    "all pods of x1 run on one node",
    "all pods of x1 and E are in one rack",
    "usage(P) <= 12",
    "usage(P) is at most 12",
    "usage of P never exceeds 12",
    "usage(P) = usage(Q) + usage(R)",
    "usage(R) stays at 4",
    "usage(R) = 4 and equals the running pods of x1 and E",
    "2 <= pods(E) <= 2",
    "queue P never uses more than 12 devices",
    "E has at least 1 pod",
    "E has between 1 and 2 pods",
    "H holds 0 or 4 devices",
    "x1 holds exactly 2 devices",
    "the devices of L1 and H = 4",
    "a job that is not running holds 0 devices",
    "every gang has all its pods or none",
    "no gang runs in part",
    "no device is used twice",
    "while H runs, L1 waits",
    "L1 waits as long as H runs",
    "before H starts L1 runs",
    "until big starts, L2 runs",
    "once H has started, nothing runs on b2",
    "no node is overbooked",
)
ALWAYS_FALSE = (
    "L1 runs throughout",
    "L1 and L2 keep running",
    "L2 runs throughout on a1",
    "the job on a1 runs throughout",
    "the jobs on a1 and a2 run throughout",
    "between t=10 and t=31 L1 does not run",
    "between t=9 and t=30, H runs and L1 waits",
    "from t=29 on L1 still runs on a1",
    "before t=11 H does not run",
    "at t=11 H starts",
    "after t=29 H has gone",
    "L1 never starts",
    "after t=11 big is pending",
    "L1 is never evicted",
    "no job is evicted",
    "exactly two of L1, L2, x1 are evicted",
    "none of L1, L2 was evicted",
    "at most one of L1, L2 runs",
    "all of L1, L2 run",
    "H and L2 never run together",
    "b1 runs nothing",
    "a1 is never used",
    "between t=10 and t=30 nothing new starts on a1",
    "H never runs on a1 and a2",
    "L1 stays on b1",
    "usage(P) <= 11",
    "usage(P) is at least 13",
    "usage(P) = usage(Q)",
    "usage(R) stays at 3",
    "usage(R) = 4 and equals the running pods of x1",
    "2 < pods(E) <= 2",
    "queue P never uses more than 11 devices",
    "E has at least 3 pods",
    "E has between 3 and 4 pods",
    "H holds 0 or 3 devices",
    "x1 holds exactly 1 device",
    "the devices of L2 and H = 4",
    "while H runs, L2 waits",
    "L1 runs while L2 runs",
    "before H starts L1 waits",
    "after H starts, L1 waits",
)
UNKNOWN = (
    "L1 is happy",
    "L9 runs throughout",
    "usage(X) <= 4",
    "h1..h6 run throughout",
    "a9 runs nothing",
    "the five jobs on a1 run throughout",
    "the other runs",
    "and equals the running pods of E",
    "while L9 runs, L1 waits",
    "while L1 runs, L9 waits",
    "after big starts, L1 runs",
    "between t=30 and t=20 L1 runs",
)


@pytest.mark.parametrize("sentence", ALWAYS_TRUE)
def test_a_true_sentence_holds(sentence: str) -> None:
    """At every instant of its window."""
    assert always_problem(scene(), sentence, end=END) is None


@pytest.mark.parametrize("sentence", ALWAYS_FALSE)
def test_a_false_sentence_does_not_hold(sentence: str) -> None:
    """The first moment at which it does not is told."""
    problem = always_problem(scene(), sentence, end=END)
    assert problem is not None
    assert 0 <= problem[0] <= END


@pytest.mark.parametrize("sentence", UNKNOWN)
def test_a_sentence_of_no_pattern_is_not_understood(sentence: str) -> None:
    """Never taken for true."""
    with pytest.raises(PhraseError):
        always_problem(scene(), sentence, end=END)


def test_the_first_moment_of_a_breach_is_told() -> None:
    """Not the last one, nor the whole case."""
    assert always_problem(scene(), "H does not run", end=END) == (10, "does not hold: H does not run")


def test_the_other_is_the_one_of_which_the_clause_before_did_not_hold() -> None:
    """ "one of a, b has gone; the other still runs" speaks of two jobs."""
    seen = scene().history.at(10)
    assert holds(scene(), seen, "exactly one of L1, L2 has gone; the other and x1 still run")
    assert not holds(scene(), seen, "exactly one of L1, L2 has gone; the other waits")
    assert holds(scene(), seen, "one of L1, L2 still runs, and the other waits")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("H", "one of a1,a2"),
        ("H", "exactly one node of rack A"),
        ("H", "a1 or a2"),
        ("H", "any of a1, a2"),
        ("H", "rack A"),
        ("H", "the node of the one evicted job"),
        ("H", "anywhere but rack B"),
        ("H", "not on b1"),
        ("H", "1 pod"),
        ("H", "a1"),
        ("H", "anywhere"),
        ("x1", "two pods"),
        ("x1", "at least 2 pods"),
        ("x1", "1 to 2 pods"),
        ("x1", "2 pods on b1"),
        ("x1", "the same node"),
        ("x1", "inside one rack"),
        ("L2", "L2's node"),
    ],
)
def test_a_place_in_words_agrees(name: str, words: str) -> None:
    """At the second in which H has started."""
    assert runs_there(scene(), scene().history.at(10), name, words)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("H", "two nodes of rack A"),
        ("H", "two different nodes of a1,a2"),
        ("H", "one of a2,b1"),
        ("H", "rack B"),
        ("H", "a2 and the node of the one evicted job"),
        ("H", "the nodes of the two evicted jobs"),
        ("H", "not on a1"),
        ("H", "2 pods"),
        ("H", "L2's node"),
        ("x1", "at most 1 pod"),
        ("x1", "3 to 4 pods"),
        ("x1", "1 pod on b1"),
        ("x1", "two different nodes"),
        ("x1", "different racks"),
        ("L1", "anywhere"),
        ("big", "one rack"),
    ],
)
def test_a_place_in_words_disagrees(name: str, words: str) -> None:
    """Also of a job that does not run: it is nowhere."""
    assert not runs_there(scene(), scene().history.at(12), name, words)
