"""Random cases on the virtual clock: what must hold in every one of them, whatever happens."""

import pytest

from scheduling.cases.cluster import VirtualCluster
from scheduling.cases.document import read_case
from scheduling.cases.groups import Scene
from scheduling.cases.sentences import always_problem
from tests.scheduling.stories import Storyteller

END = 400
NUM_STORIES = 30
ALWAYS = (
    "every gang has all its pods or none",
    "a job that is not running holds 0 devices",
    "no node is overbooked",
    "usage(P) = usage(A) + usage(B)",
)


@pytest.mark.parametrize("seed", range(NUM_STORIES))
def test_a_story_breaks_no_rule(seed: int) -> None:
    """Nodes fail and recover, jobs come, shrink, restart and go: every plan keeps the invariants and settles,
    gangs are whole, and the limit above two queues holds.
    """
    row = Storyteller(seed).story()
    case = read_case(row)
    cluster = VirtualCluster(case)
    cluster.run(until=END)
    events = ("restart:", "cancel:", "want:")  # of jobs that had ended by then
    problems = [what for _, what in cluster.history.problems if not what.startswith(events)]
    assert problems == []
    scene = Scene(case, cluster.history)
    for sentence in (*ALWAYS, f"usage(P) <= {row['queues'][0]['limit']}"):
        assert always_problem(scene, sentence, end=END) is None
