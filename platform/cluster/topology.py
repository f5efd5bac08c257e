"""Where a node is, read from its labels; and the tree that the nodes form. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from scheduling.model import LINK_LEVEL, NODE_LEVEL

LABEL_PREFIX = "gangline."


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A node's way through the tree and its devices, as far as the tree needs them."""

    name: str
    domains: Mapping[str, str]
    num_accelerators: int
    num_used: int
    is_usable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One domain of one level with what is in it. Devices count only on nodes that can be used."""

    level: str
    name: str
    num_nodes: int
    num_accelerators: int
    num_used: int
    children: tuple["Domain", ...] = ()


def domains_of(name: str, labels: Mapping[str, str], levels: Sequence[str]) -> dict[str, str]:
    """The node's domain on each level, widest first, each named by its whole way.

    Racks of two zones may share a label and are still two. A node without a label is alone on that level.
    """
    domains: dict[str, str] = {}
    way = ""
    for level in levels:
        own = name if level == NODE_LEVEL else labels.get(LABEL_PREFIX + level) or name
        way = f"{way}/{own}" if way else own
        domains[level] = name if level == NODE_LEVEL else way
    return domains


def links_of(name: str, labels: Mapping[str, str], num_devices: int) -> tuple[str, ...]:
    """The link domain of each device: the label's, which other nodes may share (a supernode), or the node."""
    return (labels.get(LABEL_PREFIX + LINK_LEVEL) or name,) * num_devices


def tree_of(places: Sequence[Place], levels: Sequence[str]) -> tuple[Domain, ...]:
    """The domains of the widest level, each with those below it, all in name order."""
    if not levels:
        return ()
    level, deeper = levels[0], levels[1:]
    ordered = sorted(places, key=lambda place: (place.domains[level], place.name))
    groups = groupby(ordered, key=lambda place: place.domains[level])
    return tuple(_domain(level, name, tuple(group), deeper) for name, group in groups)


def _domain(level: str, name: str, places: Sequence[Place], deeper: Sequence[str]) -> Domain:
    usable = [place for place in places if place.is_usable]
    return Domain(
        level=level,
        name=name,
        num_nodes=len(places),
        num_accelerators=sum(place.num_accelerators for place in usable),
        num_used=sum(place.num_used for place in usable),
        children=tree_of(places, deeper),
    )
