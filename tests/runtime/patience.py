"""Bounded waiting in coroutines."""

import asyncio
from collections.abc import Callable


async def until(is_true: Callable[[], object], *, timeout: float = 15.0) -> None:
    """Wait until it is true; `TimeoutError` when it does not become so."""
    async with asyncio.timeout(timeout):
        while not is_true():
            await asyncio.sleep(0.005)
