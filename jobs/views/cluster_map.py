"""The cluster as a map: zones, racks, nodes and their devices, with the jobs on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from accounts.permissions import Action, allowed
from accounts.requests import reader_of
from cluster.selectors import NodeRow, conductor_state, node_rows, open_windows, totals
from jobs.models import Job
from jobs.views.occupants import Occupant, Occupants, occupants, used_devices
from scheduling.model import NODE_LEVEL

COLOURINGS = ("job", "team", "state")
NODES_PER_PAGE = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One device: its index and who is on it."""

    index: int
    occupant: Occupant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCard:
    """One node with its devices and the jobs on it."""

    node: NodeRow
    slots: tuple[Slot, ...]
    jobs: tuple[Job, ...]

    @property
    def condition(self) -> str:
        """The one word that matters most about it."""
        return "cordoned" if self.node.is_usable is False and self.node.state == "ready" else self.node.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Rack:
    """The nodes of one domain of the narrowest level above the node."""

    name: str
    cards: tuple[NodeCard, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """The racks of one domain of the widest level."""

    name: str
    racks: tuple[Rack, ...]


@never_cache
@login_required
@require_GET
def show_cluster(request: HttpRequest) -> HttpResponse:
    """The page, or only the map when a part of the page asks for it again."""
    user, now = reader_of(request), timezone.now()
    found = occupants(user)
    nodes, total = node_rows(used_devices(found)), totals(used_devices(found))
    search = request.GET.get("search", "").strip()[:120]
    page = Paginator(_ordered(nodes, search), NODES_PER_PAGE).get_page(request.GET.get("page"))
    by = request.GET.get("by", "job")
    context = {
        "section": "cluster",
        "now": now,
        "zones": _zones(list(page.object_list), found),
        "totals": total,
        "page": page,
        "search": search,
        "by": by if by in COLOURINGS else "job",
        "jobs": _jobs_on(found),
        "num_hidden": _num_hidden(found),
        "conductor": conductor_state(),
        "windows": open_windows(now),
        "zone": timezone.get_current_timezone_name(),
        "manages": allowed(user, Action.MANAGE_PLATFORM, team=None),
    }
    part = request.headers.get("HX-Request") == "true"
    return render(request, "cluster/_map.html" if part else "cluster/cluster.html", context)


def _ordered(nodes: Sequence[NodeRow], search: str) -> list[NodeRow]:
    found = [node for node in nodes if search.lower() in node.name.lower()]
    return sorted(found, key=lambda node: (tuple(node.domains[level] for level in _levels()), node.name))


def _levels() -> list[str]:
    return [level for level in settings.ENV.topology_levels if level != NODE_LEVEL]


def _zones(nodes: Sequence[NodeRow], found: Occupants) -> list[Zone]:
    """The nodes grouped by their widest and by their narrowest domain; `nodes` are in that order."""
    levels = _levels()
    return [
        Zone(name=name, racks=tuple(_racks(list(group), found, levels)))
        for name, group in groupby(nodes, key=lambda node: node.domains[levels[0]] if levels else "")
    ]


def _racks(nodes: Sequence[NodeRow], found: Occupants, levels: Sequence[str]) -> list[Rack]:
    """Named by their way below the zone: "rack-a", or "spine-1/rack-a" where there are more levels."""
    groups = groupby(nodes, key=lambda node: node.domains[levels[-1]] if len(levels) > 1 else "")
    return [
        Rack(name=name.partition("/")[2], cards=tuple(_card(node, found) for node in group))
        for name, group in groups
    ]


def _card(node: NodeRow, found: Occupants) -> NodeCard:
    here = found.get(node.name, {})
    jobs = {occupant.job.id: occupant.job for occupant in here.values() if occupant.job}
    return NodeCard(
        node=node,
        slots=tuple(Slot(index=index, occupant=here.get(index)) for index in range(node.num_accelerators)),
        jobs=tuple(jobs.values()),
    )


def _jobs_on(found: Occupants) -> list[dict[str, object]]:
    """The jobs on the map with how many devices each has, the largest first."""
    sizes: dict[Job, int] = {}
    for devices in found.values():
        for occupant in devices.values():
            if occupant.job:
                sizes[occupant.job] = sizes.get(occupant.job, 0) + 1
    ordered = sorted(sizes.items(), key=lambda item: (-item[1], str(item[0].id)))
    return [{"job": job, "num_devices": size} for job, size in ordered]


def _num_hidden(found: Occupants) -> int:
    """Devices that other teams' jobs use."""
    return sum(not occupant.is_visible for devices in found.values() for occupant in devices.values())
