"""What a worker reports: whole lines, appended, in order."""

import json
import math
import subprocess
import sys
from pathlib import Path

from ray_runtime.protocol import WorkerEvent
from ray_runtime.reporter import Reporter, from_environment
from tests.train.gang import ROOT


def test_events_are_json_lines_with_kind_time_and_step(tmp_path: Path) -> None:
    """A second reporter (the next attempt) appends."""
    path = tmp_path / "new" / "events"
    for attempt in (1, 2):
        reporter = Reporter(path)
        reporter.emit(WorkerEvent.STARTED, step=attempt, total_steps=10)
        reporter.close()
        reporter.emit(WorkerEvent.FINISHED, step=attempt)
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert [event["step"] for event in events] == [1, 2]
    assert events[0]["kind"] == "started"
    assert events[0]["total_steps"] == 10
    assert events[0]["at_ms"] > 1_500_000_000_000


def test_values_that_json_has_no_word_for_are_named_apart(tmp_path: Path) -> None:
    """A loss that became NaN must be seen, not break the reader."""
    path = tmp_path / "events"
    Reporter(path).metrics(3, {"loss": math.nan, "rate": 0.5, "norm": math.inf})
    event = json.loads(path.read_text())
    assert event["values"] == {"rate": 0.5}
    assert event["not_finite"] == ["loss", "norm"]


def test_without_a_file_nothing_happens() -> None:
    """Outside the platform."""
    from_environment({}).emit(WorkerEvent.FINISHED, step=1)


def test_a_full_disk_costs_a_warning_not_the_training() -> None:
    """/dev/full takes every write for a full disk."""
    code = (
        "from pathlib import Path; from ray_runtime.reporter import Reporter; "
        "Reporter(Path('/dev/full')).metrics(1, {'loss': 1.0})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60
    )
    assert "an event was lost" in done.stderr
