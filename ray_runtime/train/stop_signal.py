"""SIGTERM, remembered instead of obeyed: the ranks agree on the step at which they leave."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class StopSignal:
    """As a context: SIGTERM only sets `requested`. Outside the main thread it cannot be caught and is not."""

    def __init__(self) -> None:
        self.requested = False
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, self._remember)
        return self

    def ignore_for_good(self) -> None:
        """The work is complete: a stop that comes now must not make a failure of it."""
        if self._before is not None:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            self._before = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)

    def _remember(self, _number: int, _frame: FrameType | None) -> None:
        self.requested = True
