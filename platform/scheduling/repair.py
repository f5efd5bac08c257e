"""Repair: members that running gangs have lost are replaced before any newcomer starts.

In turn: by what is free beside the survivors; by what is being freed already; by eviction, if the gang has
the right as if it were waiting. Otherwise an elastic gang goes on with its survivors, and a rigid one (or one
with too few left) is withdrawn: it leaves whole, and competes anew for a place that may be anywhere.
"""

import numpy as np

from scheduling.amounts import Request, kind_of
from scheduling.joining import Joining
from scheduling.model import EvictionKind, Job, JobPhase, Placement
from scheduling.placement import Place
from scheduling.preemption import Claims
from scheduling.sizes import largest_size, size_up_to
from scheduling.standing import Standing
from scheduling.supply import BoolArray


def repair(standing: Standing) -> None:
    """Deals with every running gang that lacks workers, in order of turn."""
    damaged = [job for job in standing.damaged() if job.phase is JobPhase.PLACED]
    repairs = _Repairs(standing) if damaged else None
    for job in sorted(damaged, key=standing.ranking.turn_of):
        assert repairs is not None
        repairs.repair(job)


class _Repairs:
    """One plan's repairs."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._joining = Joining(standing)
        self._claims = Claims(standing)

    def repair(self, job: Job) -> None:
        """Makes the gang whole now or later, or smaller, or takes it off."""
        most = min(len(job.placement) + job.num_missing, largest_size(job, self._standing.policy))
        num_wanted = size_up_to(job, most) - len(job.placement)
        if num_wanted <= 0:  # less is wanted by now
            self._go_on(job)
        elif not (self._replace(job, num_wanted) or self._wait_for(job, num_wanted)):
            self._go_on(job)

    def _replace(self, job: Job, num_wanted: int) -> bool:
        """Replacements from what is free now, those kept for it if they are."""
        standing = self._standing
        kept = standing.keeps.get(job.id)
        if kept is not None:
            standing.drop_keep(job)
        found = self._free_now(job, num_wanted, kept or ())
        if found:
            standing.repaired.add(job.id)
            standing.resize(job, self._joining.whole_groups(job, job.placement + found))
        elif kept is not None:
            standing.keep(job, kept)
        return bool(found)

    def _free_now(self, job: Job, num_wanted: int, kept: Placement) -> Placement:
        standing = self._standing
        place = self._place_of(job, kept)
        if place is not None and self._limits_allow(job, place) and standing.now.has(
            standing.footprint(job, kept)
        ):
            return kept
        found = self._beside(job, num_wanted, is_later=False)
        return found if found and self._limits_allow(job, Place(found, "")) else ()

    def _limits_allow(self, job: Job, place: Place) -> bool:
        standing, amount = self._standing, len(place.placement) * job.accelerators_milli
        kind = standing.supply.type_at(place.placement) if job.accelerators_milli else -1
        queue = standing.queue_of(job)
        return standing.tree.limit_now(queue, amount, accelerator_type=kind, user=job.user) is None
