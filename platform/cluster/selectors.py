"""What there is to know about the machines: for readers, and as the supply half of the engine's snapshot.

What is in use is the jobs' knowledge and comes in as a parameter: node name -> indices of devices in use.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from cluster.models import Conductor, MaintenanceWindow, Node, NodeState
from cluster.problems import problem_sentence
from cluster.services.conductor import THE_ONE
from cluster.topology import Domain, Place, domains_of, links_of, tree_of
from refusals import NotFound
from scheduling import model

Used = Mapping[str, Set[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """One node as its readers see it; `problem` is in the reader's language."""

    name: str
    state: str
    state_changed_at: datetime
    problem: str
    cordoned: bool
    cordon_reason: str
    address: str
    labels: Mapping[str, str]
    domains: Mapping[str, str]
    accelerator_type: str
    num_accelerators: int
    devices_used: tuple[int, ...]
    cpus_milli: int
    memory_bytes: int
    metrics: Mapping[str, float]
    last_seen_at: datetime

    @property
    def is_usable(self) -> bool:
        """Whether it may be given new work."""
        return self.state == NodeState.READY and not self.cordoned


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The cluster in numbers. Nodes that are not ready count as nodes and with nothing else."""

    num_nodes: int
    num_ready: int
    num_cordoned: int
    num_accelerators: int
    num_used: int
    num_free: int
    by_type: Mapping[str, int]
    cpus_milli: int
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConductorState:
    """Who is in charge on the cluster's side, when it was heard last, and which attempts it holds."""

    epoch: int
    incarnation: str
    last_seen_at: datetime | None
    attempts: Mapping[str, str]
    rebuilt: bool


def present_nodes() -> QuerySet[Node]:
    """Every node that was not removed, by name."""
    return Node.objects.exclude(state=NodeState.REMOVED).order_by("name")


def node_rows(used: Used | None = None) -> list[NodeRow]:
    """The nodes by name."""
    return [_row(node, (used or {}).get(node.name, frozenset())) for node in present_nodes()]


def node_row(name: str, used: Set[int] = frozenset()) -> NodeRow:
    """One node, or `NotFound`."""
    node = present_nodes().filter(name=name).first()
    if node is None:
        raise NotFound(kind=_("node"), id=name)
    return _row(node, used)


def totals(used: Used | None = None) -> Totals:
    """The cluster in numbers: a node that is gone is counted as a node, and none of its devices is."""
    rows = node_rows(used)
    ready = [row for row in rows if row.state == NodeState.READY]
    by_type: dict[str, int] = {}
    for row in ready:
        if row.num_accelerators:
            by_type[row.accelerator_type] = by_type.get(row.accelerator_type, 0) + row.num_accelerators
    return Totals(
        num_nodes=len(rows),
        num_ready=len(ready),
        num_cordoned=sum(row.cordoned for row in rows),
        num_accelerators=sum(row.num_accelerators for row in ready),
        num_used=sum(len(row.devices_used) for row in ready),
        num_free=sum(row.num_accelerators - len(row.devices_used) for row in ready if not row.cordoned),
        by_type=dict(sorted(by_type.items())),
        cpus_milli=sum(row.cpus_milli for row in ready),
        memory_bytes=sum(row.memory_bytes for row in ready),
    )


def topology_tree(used: Used | None = None) -> tuple[Domain, ...]:
    """The tree of zones, racks and nodes, or whatever levels the installation has."""
    places = [
        Place(
            name=row.name,
            domains=row.domains,
            num_accelerators=row.num_accelerators,
            num_used=len(row.devices_used),
            is_usable=row.state == NodeState.READY,
        )
        for row in node_rows(used)
    ]
    return tree_of(places, settings.ENV.topology_levels)


def supply() -> list[model.Node]:
    """The nodes for the engine; unreachable and cordoned ones hold what they hold and get nothing."""
    return [_supply_of(node) for node in present_nodes()]


def nodes_changed_since(xid: int) -> bool:
    """Whether a transaction from this number on changed anything that the engine plans with."""
    return Node.objects.filter(changed_xid__gte=xid).exists()


def open_windows(now: datetime) -> QuerySet[MaintenanceWindow]:
    """The maintenance windows that have neither ended nor been cancelled, by their start."""
    planned = MaintenanceWindow.objects.filter(cancelled_at__isnull=True, ends_at__gt=now)
    return planned.order_by("starts_at", "id")


def windows(now: datetime) -> list[model.Window]:
    """The same for the engine, in its order."""
    planned = sorted(open_windows(now), key=lambda window: str(window.id))
    return [
        model.Window(
            name=str(window.id),
            nodes=frozenset(model.NodeName(name) for name in window.nodes),
            starts_at_ms=round(window.starts_at.timestamp() * 1000),
            ends_at_ms=round(window.ends_at.timestamp() * 1000),
        )
        for window in planned
    ]


def conductor_state() -> ConductorState:
    """The record of the conductor; epoch 0 before the first one came."""
    row = Conductor.objects.filter(id=THE_ONE).first() or Conductor()
    return ConductorState(
        epoch=row.epoch,
        incarnation=row.incarnation,
        last_seen_at=row.last_seen_at,
        attempts=row.attempts,
        rebuilt=row.rebuilt,
    )


def _row(node: Node, used: Set[int]) -> NodeRow:
    return NodeRow(
        name=node.name,
        state=node.state,
        state_changed_at=node.state_changed_at,
        problem=problem_sentence(node.problem),
        cordoned=node.cordoned,
        cordon_reason=node.cordon_reason,
        address=node.address,
        labels=node.labels,
        domains=domains_of(node.name, node.labels, settings.ENV.topology_levels),
        accelerator_type=node.accelerator_type,
        num_accelerators=node.num_accelerators,
        devices_used=tuple(sorted(used)),
        cpus_milli=node.cpus_milli,
        memory_bytes=node.memory_bytes,
        metrics=node.metrics,
        last_seen_at=node.last_seen_at,
    )


def _supply_of(node: Node) -> model.Node:
    return model.Node(
        name=model.NodeName(node.name),
        domains=domains_of(node.name, node.labels, settings.ENV.topology_levels),
        accelerator_type=node.accelerator_type,
        num_devices=node.num_accelerators,
        links=links_of(node.name, node.labels, node.num_accelerators),
        cpus_milli=node.cpus_milli,
        memory_bytes=node.memory_bytes,
        usable=node.state == NodeState.READY and not node.cordoned,
    )
