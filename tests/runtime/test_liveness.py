"""When silence means loss."""

import asyncio
import socket

import pytest

from ray_runtime.liveness import Answer, Limits, Presence, Silence, WakingClock, knock

LIMITS = Limits(silence=6.0, agent_return=30.0)


def after(*answers: tuple[Answer, float]) -> Silence:
    """A silence with these answers of the raylet's port at these seconds."""
    silence = Silence()
    for answer, seconds in answers:
        silence = silence.after(answer, seconds=seconds)
    return silence


@pytest.mark.parametrize(
    ("silence", "presence"),
    [
        (after((Answer.REFUSED, 2.0)), Presence.PRESENT),
        (after((Answer.REFUSED, 2.0), (Answer.REFUSED, 2.2)), Presence.PRESENT),
        (after((Answer.REFUSED, 2.0), (Answer.REFUSED, 2.3), (Answer.REFUSED, 2.6)), Presence.NODE_LOST),
        (after((Answer.REFUSED, 2.0), (Answer.ACCEPTED, 2.3), (Answer.REFUSED, 2.6)), Presence.PRESENT),
        (after((Answer.NOTHING, 5.9)), Presence.PRESENT),
        (after((Answer.NOTHING, 6.0)), Presence.NODE_LOST),
        (after((Answer.ACCEPTED, 29.0)), Presence.PRESENT),
        (after((Answer.ACCEPTED, 30.0)), Presence.AGENT_LOST),
    ],
)
def test_silence_is_judged_by_what_the_raylets_port_says(silence: Silence, presence: Presence) -> None:
    """Refused for half a second or nothing for the limit: gone. Accepted: only the agent is away."""
    assert silence.judge(LIMITS) is presence


async def test_knocking() -> None:
    """A listening port accepts, a closed one refuses."""
    with socket.create_server(("127.0.1.1", 0)) as server:
        port = server.getsockname()[1]
        assert await knock("127.0.1.1", port) is Answer.ACCEPTED
    assert await knock("127.0.1.1", port) is Answer.REFUSED


async def test_a_held_up_clock_does_not_run() -> None:
    """Half a second at most for each tick, however long the loop was blocked."""
    clock = WakingClock()
    ticking = asyncio.create_task(clock.run())
    await asyncio.sleep(0)
    loop = asyncio.get_running_loop()
    blocked_until = loop.time() + 1.2
    while loop.time() < blocked_until:
        pass
    await asyncio.sleep(0.01)
    assert 0.4 < clock.now <= 0.5
    ticking.cancel()
