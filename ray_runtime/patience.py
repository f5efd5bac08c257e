"""Waiting with a limit. `asyncio.wait_for` is not used anywhere in the runtime.

In Python 3.11 it swallows a cancellation that arrives as its awaitable ends: a stopped gang went on forming.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

_Result = TypeVar("_Result")


async def within(seconds: float, work: Awaitable[_Result]) -> _Result:
    """The result, or `TimeoutError` after `seconds`."""
    async with asyncio.timeout(seconds):
        return await work


async def happens(event: asyncio.Event, *, within_seconds: float) -> bool:
    """Whether an event is set within the time."""
    try:
        await within(within_seconds, event.wait())
    except TimeoutError:
        return False
    return True
