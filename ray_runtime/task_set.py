"""Background coroutines of an actor. One that fails unexpectedly ends the actor: Ray starts it anew.

Crash only: a half-alive conductor or agent is worse than one that rebuilds itself in two seconds.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from typing import Any

logger = logging.getLogger(__name__)


def leave(_error: BaseException | None = None) -> None:
    """End this process at once, so that Ray restarts the actor."""
    os._exit(1)


class TaskSet:
    """Keeps running tasks referenced (the loop alone does not) and watches how they end."""

    def __init__(self, *, on_crash: Callable[[BaseException], None] = leave) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._on_crash = on_crash

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run it in the background."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def cancel(self) -> None:
        """Cancel all and wait for them (tests; an actor just dies)."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        logger.critical("a background task failed", exc_info=error)
        self._on_crash(error)
