"""What a worker tells about itself: JSON lines appended to the file named by GANGLINE_EVENTS_FILE.

The agent ships the file; nothing here waits for anyone. Standard library only.
"""

import json
import math
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ray_runtime.protocol import WorkerEvent

EVENTS_FILE = "GANGLINE_EVENTS_FILE"


class Reporter:
    """Appends events, one `write` for each line, so that a kill never leaves half of one between two others.

    Without a path (outside the platform) every call is a no-op.
    """

    def __init__(self, path: Path | None) -> None:
        self._fd: int | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def emit(self, kind: WorkerEvent, *, step: int, **data: Any) -> None:
        """Append one event. A full disk costs the line and a warning, never the training."""
        if self._fd is None:
            return
        line = json.dumps({"kind": kind, "at_ms": time.time_ns() // 1_000_000, "step": step, **data})
        try:
            os.write(self._fd, line.encode() + b"\n")
        except OSError as error:
            sys.stderr.write(f"gangline: an event was lost: {error}\n")

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        """Append one METRICS event; values that are not finite are only named: JSON has no word for them."""
        finite = {name: value for name, value in values.items() if math.isfinite(value)}
        odd = sorted(values.keys() - finite.keys())
        self.emit(WorkerEvent.METRICS, step=step, values=finite, **({"not_finite": odd} if odd else {}))

    def close(self) -> None:
        """Close the file; later events are dropped."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def from_environment(environ: Mapping[str, str]) -> Reporter:
    """The reporter of this process; silent when the platform did not name a file."""
    named = environ.get(EVENTS_FILE)
    return Reporter(Path(named) if named else None)
