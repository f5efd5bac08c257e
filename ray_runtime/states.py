"""The states of a gang, each with what it needs to know. Pure data; `policies` decides how to go on."""

from dataclasses import dataclass

from ray_runtime.protocol import EndCause


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an attempt ends, as its end report will say."""

    cause: EndCause
    exit_code: int | None = None
    rank: int | None = None
    node: str | None = None
    message: str = ""
    last_lines: tuple[str, ...] = ()
    finished: bool = False


@dataclass(frozen=True, slots=True)
class Reserving:
    """The placement group is being asked for; no process exists."""

    name = "reserving"


@dataclass(frozen=True, slots=True)
class Forming:
    """The group stands; agents prepare and start the ranks."""

    name = "forming"


@dataclass(frozen=True, slots=True)
class Running:
    """Every rank has been started."""

    name = "running"


@dataclass(frozen=True, slots=True)
class Saving:
    """A stop order was passed on: ranks save and leave within the grace."""

    name = "saving"


@dataclass(frozen=True, slots=True)
class Leaving:
    """The outcome is known; whatever is still alive is being ended, then the group goes."""

    outcome: Outcome
    name = "leaving"


GangState = Reserving | Forming | Running | Saving | Leaving
