"""Which job is on which device, as far as one reader may know."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from accounts.models import User
from accounts.selectors import teams_of
from jobs.models import Attempt, Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupant:
    """Who is on a device. Of another team's job only that there is one."""

    state: str
    job: Job | None = None

    @property
    def is_visible(self) -> bool:
        """Whether the reader may see the job."""
        return self.job is not None


Occupants = Mapping[str, Mapping[int, Occupant]]  # node -> device -> who


def occupants(user: User) -> Occupants:
    """The devices in use, by node and index: from the placements of the live attempts."""
    visible = set(teams_of(user).values_list("id", flat=True))
    found: dict[str, dict[int, Occupant]] = defaultdict(dict)
    live = Attempt.objects.filter(ended_at__isnull=True, job__deleted_at__isnull=True)
    for attempt in live.select_related("job__team", "job__queue", "job__owner"):
        occupant = _occupant(attempt.job, visible)
        for worker in attempt.placement:
            found[worker["node"]] |= dict.fromkeys(worker["devices"], occupant)
    return found


def used_devices(found: Occupants) -> dict[str, frozenset[int]]:
    """The same without the names, as the cluster's selectors take it."""
    return {node: frozenset(devices) for node, devices in found.items()}


def _occupant(job: Job, visible: set[UUID]) -> Occupant:
    return Occupant(state=job.state, job=job if job.team_id in visible else None)
