"""Nodes, queues and jobs of a case as the engine's rows. All amounts become milli-units."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scheduling.cases.fields import CaseError, Fields, milli_of
from scheduling.model import (
    LINK_LEVEL,
    Job,
    JobId,
    Node,
    NodeName,
    Order,
    Policy,
    Queue,
    QueuePath,
    TopologyRule,
)

ROOT = "root"
WIDEST_FIRST = (
    "region",
    "zone",
    "datacenter",
    "room",
    "row",
    "spine",
    "block",
    "supernode",
    "rack",
    "leaf",
    "switch",
    "node",
)
LINK_LABELS = ("link", "nvlink", "supernode")
UNTYPED = "any"
MILLISECONDS = 1000
PLENTY_MILLI = 10**9  # processors of a node that does not say how many it has
PLENTY_BYTES = 1 << 50
GIB = 1 << 30
_HEALTH = {
    **dict.fromkeys(("up", "ok", "healthy", "ready"), "up"),
    **dict.fromkeys(("down", "failed", "unhealthy", "broken"), "failed"),
    **dict.fromkeys(("drained", "draining", "cordoned"), "drained"),
}
_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}


@dataclass(frozen=True, slots=True)
class CaseNode:
    """A node and the state in which the case begins."""

    row: Node
    health: str  # up, failed or drained


@dataclass(frozen=True, slots=True)
class CaseJob:
    """A job as submitted, and what the engine is not told: how long it really runs."""

    row: Job
    runtime_s: int | None

    @property
    def longest_s(self) -> int | None:
        """When it ends after a start, by itself or by its limit."""
        limit_ms = self.row.max_runtime_ms
        ends = [self.runtime_s, None if limit_ms is None else limit_ms // MILLISECONDS]
        return min((end for end in ends if end is not None), default=None)


def read_policy(text: object, *, where: str) -> Policy:
    """The policy that a case's free text asks for: reserve, strict, or the neutral one."""
    if not isinstance(text, str | None):
        raise CaseError(where, "a text is expected")
    words = (text or "").strip().lower()
    if words.startswith("reserve"):
        return Policy(num_reservations=_num_reservations(words))
    if words.startswith("strict"):
        return Policy(order=Order.STRICT_FIFO)
    return Policy()


def read_nodes(rows: Iterable[object], *, where: str) -> tuple[CaseNode, ...]:
    """The nodes, by name different."""
    fields = [Fields(row, where=f"{where}[{number}]") for number, row in enumerate(rows)]
    nodes = tuple(_node(each) for each in fields)
    refuse_repeats([node.row.name for node in nodes], where=where)
    return nodes


def read_queues(rows: Iterable[object], *, where: str) -> tuple[Queue, ...]:
    """The queues. Where one is called root, it is the parent of all that name none."""
    fields = [Fields(row, where=f"{where}[{number}]") for number, row in enumerate(rows)]
    names = [each.text("name") for each in fields]
    refuse_repeats(names, where=where)
    queues = tuple(_queue(each, has_root=ROOT in names) for each in fields)
    for queue in queues:
        if queue.parent is not None and queue.parent not in names:
            raise CaseError(where, f"the parent {queue.parent} of {queue.path} is no queue of the case")
    return queues


def levels_of(nodes: Iterable[CaseNode]) -> tuple[str, ...]:
    """The levels of the topology tree for which nodes have labels, from the widest to the node."""
    labels = {"node"}.union(*(node.row.domains for node in nodes))
    return tuple(level for level in WIDEST_FIRST if level in labels)


def read_job(fields: Fields) -> CaseJob:
    """A job, submitted at 0."""
    least, wanted, most = _sizes(fields)
    limit_s = fields.maybe_whole("limit")
    row = Job(
        id=JobId(fields.text("name")),
        queue=QueuePath(fields.text("queue")),
        priority=fields.integer("prio", 0),
        submitted_at_ms=0,
        num_workers=wanted,
        min_workers=None if least == most else least,
        max_workers=None if least == most else most,
        step_workers=max(fields.whole("step", 1), 1),
        accelerators_milli=fields.milli("gpus", 1),
        cpus_milli=fields.milli("cpus", 0),
        memory_bytes=fields.whole("memory_gib", 0) * GIB,
        user=fields.maybe_text("user"),
        types=tuple(name for name in fields.texts("types") or fields.texts("type") if name != UNTYPED),
        topology=_topology(fields),
        preemptible=fields.flag("preemptible", default=True),
        grace_ms=fields.whole("grace", 0) * MILLISECONDS,
        depends_on=frozenset(JobId(name) for name in fields.texts("after")),
        array=fields.maybe_text("array"),
        array_cap=fields.maybe_whole("array_cap"),
        max_runtime_ms=None if limit_s is None else limit_s * MILLISECONDS,
    )
    job = CaseJob(row, fields.maybe_whole("runtime"))
    fields.finish()
    return job


def refuse_repeats(names: Iterable[str], *, where: str) -> None:
    """Refuses a name that is given twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise CaseError(where, f"{name!r} is named twice")
        seen.add(name)


def _num_reservations(words: str) -> int:
    found = re.search(r"\breserve (\w+)\b|\bfirst (\w+) (?:pending|waiting) jobs", words)
    number = next((each for each in found.groups() if each), "") if found else ""
    return int(number) if number.isdigit() else _NUMBERS.get(number, 1)


def _node(fields: Fields) -> CaseNode:
    name = fields.text("name")
    num_devices = fields.whole("gpus", 0)
    health = _HEALTH.get(fields.text("health", default="up").lower())
    if health is None:
        raise CaseError(f"{fields.where}.health", f"known are {', '.join(_HEALTH)}")
    row = Node(
        name=NodeName(name),
        accelerator_type=fields.text("type", default=UNTYPED),
        num_devices=num_devices,
        cpus_milli=fields.milli("cpus", PLENTY_MILLI // 1000),
        memory_bytes=PLENTY_BYTES if fields.get("memory_gib") is None else fields.whole("memory_gib") * GIB,
        links=_links(fields, num_devices),
        domains=_labels(fields),
        usable=health == "up",
    )
    return CaseNode(row, health)


def _links(fields: Fields, num_devices: int) -> tuple[str, ...]:
    """The link domain of each device: one name for all, or a list; the node's own without a label."""
    label = next((label for label in LINK_LABELS if label in fields), None)
    if label is None:
        return (fields.text("name"),) * num_devices
    names = fields.texts(label)
    if len(names) not in (1, num_devices):
        raise CaseError(f"{fields.where}.{label}", f"one name, or {num_devices}, one for each device")
    return names * num_devices if len(names) == 1 else names


def _labels(fields: Fields) -> dict[str, str]:
    """Every other field of a node is a label; one text each (a list of links is not a label)."""
    labels: dict[str, Any] = {name: fields.get(name) for name in LINK_LABELS if name in fields}
    labels = {name: value for name, value in labels.items() if isinstance(value, str)} | fields.others()
    for name, value in labels.items():
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise CaseError(f"{fields.where}.{name}", "a label is a text")
    return {name: str(value) for name, value in labels.items()}


def _queue(fields: Fields, *, has_root: bool) -> Queue:
    name, parent = fields.text("name"), fields.text("parent", default=ROOT)
    guarantees, limits = _amounts(fields, "guarantee"), _amounts(fields, "limit")
    user_limit = fields.maybe_whole("user_limit")
    queue = Queue(
        path=QueuePath(name),
        parent=QueuePath(parent) if name != ROOT and (parent != ROOT or has_root) else None,
        guarantee_milli=guarantees.pop("", sum(guarantees.values())),
        limit_milli=limits.pop("", None),
        weight=fields.whole("weight", 1),
        type_guarantees=guarantees,
        type_limits=limits,
        user_limit_milli=None if user_limit is None else user_limit * 1000,
    )
    fields.finish()
    return queue


def _amounts(fields: Fields, name: str) -> dict[str, int]:
    """A total (under ""), or one amount for each accelerator type and maybe a "total"."""
    value, where = fields.get(name), f"{fields.where}.{name}"
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        return {"": milli_of(value, where=where)}
    found = {key: milli_of(each, where=f"{where}.{key}") for key, each in value.items() if each is not None}
    return {"" if key == "total" else key: amount for key, amount in found.items()}


def _sizes(fields: Fields) -> tuple[int, int, int]:
    """Least, wanted and most pods."""
    pods, least, most = fields.whole("pods", 1), fields.maybe_whole("min"), fields.maybe_whole("max")
    largest = most if most is not None else max(pods, least or 0)
    smallest = least if least is not None else min(pods, largest)
    if not 0 < smallest <= largest:
        raise CaseError(fields.where, f"pods, min and max do not agree: {smallest} to {largest}")
    wanted = fields.whole("want", largest)
    return smallest, min(max(wanted, smallest), largest), largest


def _topology(fields: Fields) -> tuple[TopologyRule, ...]:
    value = fields.get("topology")
    if value is None or value == "none":
        return ()
    rules = Fields(value, where=f"{fields.where}.topology")
    found = [TopologyRule(level=_level(level)) for level in rules.texts("required")]
    found += [TopologyRule(level=_level(level), preferred=True) for level in rules.texts("preferred")]
    rules.finish()
    return tuple(found)


def _level(name: str) -> str:
    """The engine's own level for link domains goes by two names; any other is a label of nodes."""
    return LINK_LEVEL if name in LINK_LABELS[:2] else name
