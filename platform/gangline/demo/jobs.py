"""The three jobs of the demo, as the documents that a user would submit."""

from typing import Any

Json = dict[str, Any]

CLUSTER_SLOTS = 16
# Long enough not to end before the others have come, however fast the machine is: two cores do some ten steps
# a second, more of them up to about sixteen times as many.
STEPS_PER_CPU, MOST_CPUS = 120, 32
SHORT_STEPS = 60
RECLAIM_AT_STEP = 60  # of the first job, when the second team asks for its own
URGENT_AFTER_STEPS = 60  # of the first job, after it has come back
# Small enough for four workers to share two cores at some ten steps a second, large enough to learn.
MODEL = {"layers": 2, "hidden": 64, "heads": 4, "context": 64, "global_batch": 16, "micro_batch": 4}


def pretraining(queue: str, *, num_cpus: int) -> Json:
    """Four workers on four nodes: every slot of the cluster, half of them borrowed."""
    return {
        "name": "gpt-long",
        "queue": queue,
        "workers": 4,
        "resources": {"accelerators": 4},
        "recipe": "gpt-pretrain",
        "params": {**MODEL, "steps": STEPS_PER_CPU * min(max(num_cpus, 2), MOST_CPUS)},
        "checkpoint": {"every": 50},
        "limits": {"grace": "60s"},
    }


def within_guarantee(queue: str) -> Json:
    """Two workers of the other team, within its guarantee: what was borrowed has to come back."""
    return {
        "name": "gpt-guaranteed",
        "queue": queue,
        "workers": 2,
        "resources": {"accelerators": 4},
        "recipe": "gpt-pretrain",
        "params": {**MODEL, "steps": SHORT_STEPS},
        "limits": {"grace": "60s"},
    }


def urgent(queue: str) -> Json:
    """One worker that goes before everything else in the first team's queue."""
    return {
        "name": "gpt-urgent",
        "queue": queue,
        "priority": "urgent",
        "workers": 1,
        "resources": {"accelerators": 4},
        "recipe": "gpt-pretrain",
        "params": {**MODEL, "steps": SHORT_STEPS},
        "limits": {"grace": "60s"},
    }
