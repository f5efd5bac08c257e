"""The three jobs of the demo, as the documents that a user would submit."""

from typing import Any

Json = dict[str, Any]

CLUSTER_SLOTS = 16
PRETRAIN_STEPS = 240
RECLAIM_AT_STEP = 60  # of the first job, when the second team asks for its own
URGENT_AFTER_STEPS = 40  # of the first job, after it has come back


def pretraining(queue: str) -> Json:
    """Four workers on four nodes: every slot of the cluster, half of them borrowed."""
    return {
        "name": "gpt-on-the-library",
        "queue": queue,
        "workers": 4,
        "resources": {"accelerators": 4},
        "recipe": "gpt-pretrain",
        "params": {"steps": PRETRAIN_STEPS},
        "checkpoint": {"every": 50},
        "limits": {"grace": "60s"},
    }


def within_guarantee(queue: str) -> Json:
    """Two workers of the other team, within its guarantee: what was borrowed has to come back."""
    return {
        "name": "gpt-of-the-neighbours",
        "queue": queue,
        "workers": 2,
        "resources": {"accelerators": 4},
        "recipe": "gpt-pretrain",
        "params": {"steps": 40},
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
        "params": {"steps": 40},
        "limits": {"grace": "60s"},
    }
