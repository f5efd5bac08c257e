"""Taking in what the conductor says about the nodes, and what its silence says."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from cluster.errors import StaleEpoch
from cluster.models import Conductor, Node, NodeState
from cluster.problems import Problem
from cluster.services.conductor import lock_conductor
from eventlog.wakeups import wake_tick
from ray_runtime.protocol import Inventory, NodeReport

# What the engine plans with: when one of these changes on a node that is ready, the tick must look again.
_AMOUNTS = ("labels", "accelerator_type", "num_accelerators", "cpus_milli", "memory_bytes")
_REPORTED = (*_AMOUNTS, "ray_node_id", "address", "metrics")
_WRITTEN = (*_REPORTED, "state", "state_changed_at", "problem", "last_seen_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryChange:
    """Names of the nodes that can be used since this inventory, and of those that cannot any more."""

    came: frozenset[str] = frozenset()
    went: frozenset[str] = frozenset()


def record_inventory(inventory: Inventory, *, now: datetime) -> InventoryChange:
    """Make the rows what the conductor sees: nodes in one statement, and which attempts it holds.

    A node that it does not mention is gone. Raises `StaleEpoch` if another conductor is in charge.
    """
    with transaction.atomic():
        _note_conductor(lock_conductor(), inventory, now)
        known = {node.name: node for node in Node.objects.select_for_update(no_key=True).order_by("name")}
        before = {name: _planned(node) for name, node in known.items()}
        reports = _distinct(inventory)
        reported = {name: _take_in(known.get(name), report, now) for name, report in reports.items()}
        gone = [node for name, node in known.items() if name not in reported]
        missing = [node for node in gone if _lose(node, Problem.GONE, now)]
        _write(reported.values())
        _write(missing)
    after = {name: _planned(node) for name, node in {**known, **reported}.items()}
    if before != after:
        wake_tick()
    return _change(before, after)


def mark_silent_nodes(*, now: datetime, silence: timedelta) -> frozenset[str]:
    """Declare unreachable every ready node that nobody has spoken of for `silence`; their names.

    The conductor speaks for all nodes, so this is what its own absence comes to: nothing new is placed until
    it is heard again. Work under way is not touched.
    """
    with transaction.atomic():
        silent = list(
            Node.objects.select_for_update(no_key=True)
            .filter(state=NodeState.READY, last_seen_at__lt=now - silence)
            .order_by("name")
        )
        for node in silent:
            _lose(node, Problem.SILENT, now)
        _write(silent)
    if silent:
        wake_tick()
    return frozenset(node.name for node in silent)


def _note_conductor(conductor: Conductor, inventory: Inventory, now: datetime) -> None:
    if inventory.epoch != conductor.epoch:
        raise StaleEpoch(given=inventory.epoch, present=conductor.epoch)
    conductor.last_seen_at = now
    conductor.attempts = dict(inventory.attempts)
    conductor.rebuilt = inventory.rebuilt
    conductor.save(update_fields=["last_seen_at", "attempts", "rebuilt"])


def _distinct(inventory: Inventory) -> dict[str, NodeReport]:
    """One report per name: a node that was restarted may be listed beside its dead predecessor."""
    living_last = sorted(inventory.nodes, key=lambda report: report.alive)
    return {report.name: report for report in living_last}


def _take_in(node: Node | None, report: NodeReport, now: datetime) -> Node:
    node = node or Node(name=report.name, first_seen_at=now, last_seen_at=now, state="", state_changed_at=now)
    for name in _REPORTED:
        value = getattr(report, name)
        setattr(node, name, dict(value) if isinstance(value, Mapping) else value)
    if report.alive:
        node.last_seen_at = now
        _enter(node, NodeState.READY, report.problem, now)
    else:
        _lose(node, report.problem or Problem.DEAD, now)
    return node


def _lose(node: Node, problem: str, now: datetime) -> bool:
    """Take the node out of use; False if that changes nothing. One that an admin removed stays removed."""
    if node.state == NodeState.REMOVED:
        return False
    return _enter(node, NodeState.UNREACHABLE, problem, now)


def _enter(node: Node, state: NodeState, problem: str, now: datetime) -> bool:
    is_change = (node.state, node.problem) != (state, problem[:300])
    if node.state != state:
        node.state_changed_at = now
    node.state, node.problem = state, problem[:300]
    return is_change


def _write(nodes: Iterable[Node]) -> None:
    """One statement for any number of nodes: an inventory comes every second."""
    Node.objects.bulk_create(
        nodes, update_conflicts=True, unique_fields=["name"], update_fields=list(_WRITTEN), batch_size=1000
    )


def _planned(node: Node) -> tuple[object, ...] | None:
    """What the engine would see of the node; None while it cannot be used."""
    if node.state != NodeState.READY:
        return None
    return tuple(getattr(node, name) for name in _AMOUNTS)


def _change(
    before: Mapping[str, tuple[object, ...] | None], after: Mapping[str, tuple[object, ...] | None]
) -> InventoryChange:
    usable_before = {name for name, planned in before.items() if planned is not None}
    usable_after = {name for name, planned in after.items() if planned is not None}
    return InventoryChange(
        came=frozenset(usable_after - usable_before), went=frozenset(usable_before - usable_after)
    )
