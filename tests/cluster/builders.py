"""What a conductor reports, as the runtime would say it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from cluster.services import InventoryChange, record_inventory, take_epoch
from ray_runtime.protocol import Inventory, NodeReport

INCARNATION = "conductor-1"


def a_report(name: str, **given: Any) -> NodeReport:
    """A healthy node with four slots in rack `rack-a` of zone `z1`."""
    defaults: dict[str, Any] = {
        "name": name,
        "ray_node_id": f"ray-{name}",
        "address": "127.0.0.3",
        "alive": True,
        "labels": {"gangline.node": name, "gangline.zone": "z1", "gangline.rack": "rack-a"},
        "accelerator_type": "slot",
        "num_accelerators": 4,
        "cpus_milli": 8000,
        "memory_bytes": 2**30,
        "metrics": {"cpu_percent": 12.5},
    }
    return NodeReport(**{**defaults, **given})


def report(*nodes: NodeReport, now: datetime, epoch: int = 1, **given: Any) -> InventoryChange:
    """Let the conductor say this."""
    inventory = an_inventory(nodes, epoch=epoch, **given)
    return record_inventory(inventory, now=now)


def an_inventory(nodes: Iterable[NodeReport], *, epoch: int = 1, **given: Any) -> Inventory:
    """A heartbeat."""
    return Inventory(
        epoch=epoch,
        incarnation=INCARNATION,
        at_ms=0,
        nodes=tuple(nodes),
        attempts=given.pop("attempts", {}),
        **given,
    )


def a_conductor(now: datetime) -> int:
    """Put a conductor in charge; its epoch."""
    return take_epoch(incarnation=INCARNATION, now=now)
