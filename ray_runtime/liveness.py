"""When a node that has fallen silent counts as lost. Pure but for one TCP connection.

Ray tells of a lost node after 4 to 15 s, and tightening its own health check killed healthy, busy heads. A
refused connection to the raylet's port tells at once; a silence without refusal (power loss, cut cable) tells
after the limit. Where the raylet still accepts connections only the agent is away, and Ray brings it back.
"""

import asyncio
from dataclasses import dataclass
from enum import StrEnum

from ray_runtime.patience import within

_REFUSALS = 2
_REFUSAL_SPAN_SECONDS = 0.5
_CONNECT_SECONDS = 1.0


class Answer(StrEnum):
    """What a connection to a raylet's port came to."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    NOTHING = "nothing"


class Presence(StrEnum):
    """What follows from silence and answers."""

    PRESENT = "present"
    NODE_LOST = "node_lost"
    AGENT_LOST = "agent_lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How patient to be, in seconds."""

    silence: float
    agent_return: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """A node that is not answering: since when, and what its raylet's port said meanwhile."""

    seconds: float = 0.0
    last: Answer = Answer.ACCEPTED
    num_refused: int = 0
    refused_for: float = 0.0  # from the first refusal in a row to now

    def judge(self, limits: Limits) -> Presence:
        """Whether it is time to give up."""
        if self.num_refused >= _REFUSALS and self.refused_for >= _REFUSAL_SPAN_SECONDS:
            return Presence.NODE_LOST
        if self.last is not Answer.ACCEPTED and self.seconds >= limits.silence:
            return Presence.NODE_LOST
        return Presence.AGENT_LOST if self.seconds >= limits.agent_return else Presence.PRESENT

    def after(self, answer: Answer, *, seconds: float) -> "Silence":
        """The same silence, `seconds` long by now, after one more connection."""
        if answer is not Answer.REFUSED:
            return Silence(seconds=seconds, last=answer)
        first_refusal_at = self.seconds - self.refused_for if self.num_refused else seconds
        return Silence(
            seconds=seconds,
            last=answer,
            num_refused=self.num_refused + 1,
            refused_for=seconds - first_refusal_at,
        )


async def knock(address: str, port: int) -> Answer:
    """Try to connect."""
    try:
        _reader, writer = await within(_CONNECT_SECONDS, asyncio.open_connection(address, port))
    except ConnectionRefusedError:
        return Answer.REFUSED
    except (OSError, TimeoutError):
        return Answer.NOTHING
    writer.close()
    return Answer.ACCEPTED


class WakingClock:
    """Monotonic seconds that do not count while the conductor itself was held up.

    On a stalled machine every agent looks silent; nobody is lost because of our own sleep.
    """

    _TICK = 0.25
    _LONGEST = 0.5

    def __init__(self) -> None:
        self.now = 0.0

    async def run(self) -> None:
        """For the life of the conductor."""
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            await asyncio.sleep(self._TICK)
            now = loop.time()
            self.now += min(now - last, self._LONGEST)
            last = now
