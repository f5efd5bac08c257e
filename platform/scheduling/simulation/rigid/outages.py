"""Failures of nodes drawn from a rate: independent, memoryless, seeded."""

import numpy as np

from scheduling.simulation.rigid.replay import Outage

DAY_MS = 86_400_000
REPAIR_MS = 3_600_000


def outages(
    *,
    num_nodes: int,
    per_node: int,
    per_device_day: float,
    until_ms: int,
    seed: int,
    repair_ms: int = REPAIR_MS,
) -> tuple[Outage, ...]:
    """Outages of all nodes up to a time. A node fails as often as any of its devices and is then down for
    `repair_ms`, during which it cannot fail again.
    """
    if per_device_day <= 0:
        return ()
    random = np.random.default_rng(seed)
    mean_ms = DAY_MS / (per_device_day * per_node)
    found = []
    for node in range(num_nodes):
        starts_ms = round(random.exponential(mean_ms))
        while starts_ms < until_ms:
            found.append(Outage(node=node, starts_ms=starts_ms, ends_ms=starts_ms + repair_ms))
            starts_ms += repair_ms + 1 + round(random.exponential(mean_ms))
    return tuple(found)
