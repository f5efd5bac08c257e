"""A sample of the live plans is held against the engine's invariants, row by row.

A plan that breaks one is a defect of ours: it is logged with what is wrong, and carried out all the same, as
each decision is checked again where it is applied.
"""

import logging
from itertools import count

from scheduling.invariants import check
from scheduling.model import Plan
from scheduling.snapshot import Snapshot

logger = logging.getLogger(__name__)

ONE_IN = 20
MOST_JOBS = 2_000  # checking goes row by row, in Python
MOST_SHOWN = 10

_turns = count()


def check_now_and_then(snapshot: Snapshot, plan: Plan, *, now_ms: int) -> bool:
    """Checks one plan in so many; tells whether this one was."""
    if next(_turns) % ONE_IN or len(snapshot.jobs) > MOST_JOBS:
        return False
    problems = check(snapshot, plan, now_ms=now_ms)
    if problems:
        logger.error("a plan breaks %d invariants: %s", len(problems), "; ".join(problems[:MOST_SHOWN]))
    return True
