"""Memory and CPU of each service when nothing runs."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from benchmarks.figures import Figure
from tests.support.platform import LivePlatform

SETTLE_SECONDS = 20
WATCH_SECONDS = 20
MIB = 2**20


def measure(platform: LivePlatform) -> list[Figure]:
    """Proportional set size, and processor time over a while, of each child with all below it."""
    time.sleep(SETTLE_SECONDS)
    before = {name: _cpu_seconds(platform, name) for name in sorted(platform.children())}
    time.sleep(WATCH_SECONDS)
    figures = []
    for name, spent in before.items():
        percent = 100 * (_cpu_seconds(platform, name) - spent) / WATCH_SECONDS
        figures += [
            Figure(bench="rest", name=f"{name}: memory (PSS)", value=_pss(platform, name) / MIB, unit="MiB"),
            Figure(bench="rest", name=f"{name}: processor", value=percent, unit="% of a core"),
        ]
    return [*figures, *_totals(figures)]


def _totals(figures: list[Figure]) -> list[Figure]:
    return [
        Figure(
            bench="rest",
            name=f"all services: {kind}",
            value=sum(figure.value for figure in figures if figure.unit == unit),
            unit=unit,
        )
        for kind, unit in (("memory (PSS)", "MiB"), ("processor", "% of a core"))
    ]


def _cpu_seconds(platform: LivePlatform, name: str) -> float:
    total = 0.0
    for process in _tree(platform, name):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def _pss(platform: LivePlatform, name: str) -> int:
    total = 0
    for process in _tree(platform, name):
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
            total += 1024 * int(
                next(line for line in text.splitlines() if line.startswith("Pss:")).split()[1]
            )
    return total


def _tree(platform: LivePlatform, name: str) -> Iterator[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        top = psutil.Process(platform.pid(name))
        yield top
        yield from top.children(recursive=True)
