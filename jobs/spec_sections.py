"""Reads the sections of a job file: resources, topology, environment, checkpoint, limits. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from jobs import spec_model, units
from jobs.spec_model import CheckpointRule, Limits, Resources, Topology
from jobs.spec_reading import Reading, join, shown

RESERVED_VARIABLES = frozenset(
    {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT"}
)
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_STEPS = re.compile(r"([0-9]{1,12}) steps?")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Quantity:
    """How an amount is written, and its range in the units that `read` returns."""

    read: Callable[[object], int | None]
    example: str | Promise
    low: int = 0
    high: int


_MILLI = _("a number with at most three decimals, for example 4 or 0.5")
_DURATION = _("a duration such as 60s, 30m or 12h")
_ACCELERATORS = _Quantity(read=units.parse_milli, example=_MILLI, high=spec_model.MAX_ACCELERATORS * 1000)
_CPUS = _Quantity(read=units.parse_milli, example=_MILLI, high=spec_model.MAX_CPUS_MILLI)
_MEMORY = _Quantity(
    read=units.parse_bytes,
    example=_("an amount of memory such as 8GiB or 512MiB"),
    high=spec_model.MAX_MEMORY_BYTES,
)
_GRACE = _Quantity(read=units.parse_seconds, example=_DURATION, high=spec_model.MAX_GRACE_SECONDS)
_RUNTIME = _Quantity(read=units.parse_seconds, example=_DURATION, low=1, high=spec_model.MAX_SECONDS)


def read_resources(reading: Reading, value: object, *, workers: int) -> Resources:
    """What one worker gets."""
    part = reading.mapping(value, "resources", known=("accelerators", "types", "cpus", "memory"))
    return Resources(
        accelerators_milli=_accelerators(reading, part.get("accelerators"), workers=workers),
        types=_types(reading, part.get("types")),
        cpus_milli=_amount(reading, part.get("cpus"), "resources.cpus", _CPUS) or 0,
        memory_bytes=_amount(reading, part.get("memory"), "resources.memory", _MEMORY) or 0,
    )


def _accelerators(reading: Reading, value: object, *, workers: int) -> int:
    path = "resources.accelerators"
    milli = _amount(reading, value, path, _ACCELERATORS)
    if milli is None:
        return 1000
    if milli % 1000 and milli > 1000:
        reading.refuse(path, _("must be a whole number, or a part of one device below 1"))
    if milli % 1000 and workers > 1:
        reading.refuse(path, _("may be a part of one device only with one worker"))
    return milli


def _amount(reading: Reading, value: object, path: str, quantity: _Quantity) -> int | None:
    """The amount; None where none was given or the given one is refused."""
    if value is None:
        return None
    amount = quantity.read(value)
    if amount is None:
        texts = {"kind": quantity.example, "given": shown(value)}
        reading.refuse(path, _("must be %(kind)s, not %(given)s") % texts)
    elif not quantity.low <= amount <= quantity.high:
        reading.refuse(path, _("is out of the allowed range: %(given)s") % {"given": shown(value)})
        return None
    return amount


def _types(reading: Reading, value: object) -> tuple[str, ...]:
    path = "resources.types"
    if value is None:
        return ()
    if not isinstance(value, list) or not 1 <= len(value) <= 16:
        reading.refuse(path, _("must be a list of 1 to 16 accelerator types, the preferred one first"))
        return ()
    for index, item in enumerate(value):
        given = {"given": shown(item)}
        if not isinstance(item, str) or not _TYPE.fullmatch(item):
            reading.refuse(f"{path}[{index}]", _("is not the name of an accelerator type: %(given)s") % given)
        elif item in value[:index]:
            reading.refuse(f"{path}[{index}]", _("is listed twice: %(given)s") % given)
    return tuple(item for item in value if isinstance(item, str))


def read_topology(reading: Reading, value: object, levels: Sequence[str] | None) -> Topology | None:
    """The gang's topology rule; `levels` are the cluster's, None to accept any."""
    part = reading.mapping(
        value, "topology", known=("job", "tensor"), later=("pipeline", "expert", "context")
    )
    if part.get("job") is None:
        return None
    rule = reading.mapping(part["job"], "topology.job", known=("within", "preferred"))
    path = "topology.job.within"
    within = reading.text(rule.get("within"), path, max_length=60)
    if rule.get("within") is None:
        reading.refuse(path, _("is required"))
    elif within is not None and levels is not None and within not in levels:
        allowed = {"allowed": ", ".join(levels), "given": shown(within)}
        reading.refuse(path, _("must be one of %(allowed)s, not “%(given)s”") % allowed)
    return Topology(
        within=within or "", preferred=reading.boolean(rule.get("preferred"), "topology.job.preferred")
    )


def read_variables(reading: Reading, value: object) -> Mapping[str, str]:
    """Environment variables; a whole number is taken as its digits."""
    part = reading.mapping(value, "environment", known=("variables",), later=("pip", "secrets"))
    given = part.get("variables")
    if given is None:
        return {}
    path = "environment.variables"
    if not isinstance(given, dict) or len(given) > spec_model.MAX_VARIABLES:
        reading.refuse(
            path, _("must be a mapping of at most %(max)s names to texts") % {"max": spec_model.MAX_VARIABLES}
        )
        return {}
    return {name: _variable(reading, name, item) for name, item in given.items() if isinstance(name, str)}


def is_set_by_platform(name: str) -> bool:
    """Whether the variable is the platform's own, so that a job cannot set it."""
    return name in RESERVED_VARIABLES or name.startswith("GANGLINE_")


def _variable(reading: Reading, name: str, value: object) -> str:
    path = join("environment.variables", name)
    if not VARIABLE_NAME.fullmatch(name):
        reading.refuse(path, _("is not a name of letters, digits and _ that starts with a letter or _"))
    if is_set_by_platform(name):
        reading.refuse(path, _("is set by the platform and cannot be given"))
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 2**63 else ""
    if not isinstance(value, str) or len(value) > spec_model.MAX_COMMAND_LENGTH:
        reading.refuse(path, _("must be text, not %(given)s; put it in quotes") % {"given": shown(value)})
        return ""
    return value


def read_checkpoint(reading: Reading, value: object) -> CheckpointRule:
    """When to save, how many to keep, and which to start from."""
    part = reading.mapping(value, "checkpoint", known=("every", "keep", "from"))
    return CheckpointRule(
        every=_every(reading, part.get("every")),
        keep=reading.integer(part.get("keep"), "checkpoint.keep", low=1, high=1000, default=3),
        source=reading.text(part.get("from"), "checkpoint.from", max_length=60),
    )


def _every(reading: Reading, value: object) -> str:
    """A whole number means steps here, as in every training loop; durations carry their unit."""
    match = _STEPS.fullmatch(value) if isinstance(value, str) else None
    steps = int(match[1]) if match else value
    if value is None or value == "auto":
        return "auto"
    if isinstance(steps, int) and not isinstance(steps, bool) and 1 <= steps <= 10**12:
        return f"{steps} steps"
    seconds = units.parse_seconds(value) if isinstance(value, str) else None
    if seconds is None or not 1 <= seconds <= spec_model.MAX_SECONDS:
        given = {"given": shown(value)}
        reading.refuse(
            "checkpoint.every", _("must be auto, a number of steps or a duration, not %(given)s") % given
        )
        return "auto"
    return f"{seconds}s"


def read_limits(reading: Reading, value: object) -> Limits:
    """Run time, grace and repeats."""
    known = ("max_runtime", "grace", "retries", "node_retries", "concurrent")
    part = reading.mapping(value, "limits", known=known, later=("stall",))
    grace = _amount(reading, part.get("grace"), "limits.grace", _GRACE)
    return Limits(
        max_runtime_seconds=_amount(reading, part.get("max_runtime"), "limits.max_runtime", _RUNTIME),
        grace_seconds=60 if grace is None else grace,
        retries=reading.integer(part.get("retries"), "limits.retries", low=0, high=100, default=0),
        node_retries=reading.integer(
            part.get("node_retries"), "limits.node_retries", low=0, high=1000, default=10
        ),
    )
