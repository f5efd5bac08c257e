"""How the live engine decides: one row that platform admins change. Without it, the columns' defaults."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.permissions import require_platform_admin
from accounts.services import record_audit
from eventlog.wakeups import wake_tick
from jobs.models import SchedulingPolicy
from refusals import Invalid, Problem
from scheduling.model import Order, Packing, Policy, Runtimes

THE_ONE = 1
CHOICES = {"order": Order, "packing": Packing, "runtimes": Runtimes}
# Key of the policy -> its least and greatest value.
RANGES = {
    "num_reservations": (0, 64),
    "min_runtime_seconds": (0, 86_400),
    "max_evictions": (0, 100_000),
    "usage_half_life_hours": (0, 10_000),
    "ageing_percent": (0, 100),
    "service_quantum_device_seconds": (1, 1_000_000_000),
    "keep_plans_days": (1, 366),
}
FLAGS = ("preempts", "damps_size", "shares_surplus", "takes_later_type")
KEYS = (*CHOICES, *RANGES, *FLAGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """What one key may be, and the sentence that says so."""

    is_met: bool
    problem: str


def live_policy() -> Policy:
    """The policy of the next plan."""
    row = stored_policy()
    return Policy(
        order=Order(row.order),
        packing=Packing(row.packing),
        runtimes=Runtimes(row.runtimes),
        num_reservations=row.num_reservations,
        min_runtime_ms=row.min_runtime_seconds * 1000,
        max_evictions=row.max_evictions,
        preempts=row.preempts,
        damps_size=row.damps_size,
        ageing_percent=row.ageing_percent,
        service_quantum_milli_ms=row.service_quantum_device_seconds * 1_000_000,
        shares_surplus=row.shares_surplus,
        takes_later_type=row.takes_later_type,
    )


def stored_policy() -> SchedulingPolicy:
    """The row, or one with the defaults."""
    return SchedulingPolicy.objects.filter(id=THE_ONE).first() or SchedulingPolicy(id=THE_ONE)


def plans_kept_for() -> int:
    """For how many days plans are kept."""
    return stored_policy().keep_plans_days


def change_policy(
    *, user: User, changes: dict[str, Any], address: str | None = None, now: datetime
) -> SchedulingPolicy:
    """Change some of the policy's keys, for platform admins; the next plan is made by it."""
    require_platform_admin(user)
    rules = {key: _rule(key, value) for key, value in changes.items()}
    problems = [Problem(key, rule.problem) for key, rule in rules.items() if not rule.is_met]
    if problems:
        raise Invalid(details=problems)
    with transaction.atomic():
        row, _made = SchedulingPolicy.objects.select_for_update().get_or_create(id=THE_ONE)
        before = {key: getattr(row, key) for key in changes}
        for key, value in changes.items():
            setattr(row, key, value)
        row.save(update_fields=list(changes))  # whoever changes other keys loses nothing
        record_audit(
            actor=user,
            action="policy_changed",
            object_kind="policy",
            object_id="scheduling",
            data={"before": before, "after": changes},
            address=address,
            now=now,
        )
    wake_tick()
    return row


def _rule(key: str, value: object) -> _Rule:
    if key in CHOICES:
        allowed = {"allowed": ", ".join(CHOICES[key])}
        return _Rule(is_met=value in list(CHOICES[key]), problem=_("must be one of %(allowed)s") % allowed)
    if key in FLAGS:
        return _Rule(is_met=isinstance(value, bool), problem=str(_("must be true or false")))
    if key not in RANGES:
        return _Rule(is_met=False, problem=str(_("cannot be changed")))
    least, most = RANGES[key]
    is_whole = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    is_met = is_whole or (key == "max_evictions" and value is None)
    bounds = {"least": least, "most": most}
    return _Rule(is_met=is_met, problem=_("must be a whole number from %(least)s to %(most)s") % bounds)
