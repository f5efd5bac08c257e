"""Shows the progress of jobs while they run: bars on a terminal, lines of text everywhere else."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from gangline.render import STATE_STYLES, console
from gangline.sight import Sight

PLAIN_EVERY_SECONDS = 10.0
WIDE_SCREEN, WIDE_BAR, NARROW_BAR = 120, 24, 8


class Board(Protocol):
    """Something that shows jobs. A context manager; `show` may be called as often as one likes."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def show(self, sights: Iterable[Sight]) -> None:
        """Bring the picture up to date."""

    def say(self, text: str) -> None:
        """Print a line that stays."""


def open_board() -> Board:
    """Bars where somebody looks on, lines where a file or a log does."""
    screen = console()
    return LiveBoard(screen) if screen.is_terminal else PlainBoard()


class LiveBoard:
    """One bar per job, redrawn in place."""

    def __init__(self, screen: Console) -> None:
        self._tasks: dict[str, TaskID] = {}
        self._progress = Progress(
            TextColumn("{task.fields[name]}", markup=False),
            TextColumn("{task.fields[state]}", style="bold"),
            BarColumn(bar_width=WIDE_BAR if screen.width >= WIDE_SCREEN else NARROW_BAR),
            TextColumn("{task.fields[steps]}", markup=False),
            TextColumn("{task.fields[loss]}", markup=False),
            TimeElapsedColumn(),
            # Takes the width that is left, on as many lines as it needs: the numbers stay readable.
            TextColumn(
                "{task.fields[remark]}",
                style="dim",
                markup=False,
                table_column=Column(ratio=1, overflow="fold"),
            ),
            console=screen,
            expand=True,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def show(self, sights: Iterable[Sight]) -> None:
        """Move each job's bar; a job seen for the first time gets one."""
        for sight in sights:
            self._progress.update(
                self._task(sight), completed=sight.step, total=sight.total_steps, **_fields(sight)
            )
            if sight.is_ended:
                self._progress.stop_task(self._tasks[sight.job_id])

    def say(self, text: str) -> None:
        """Print a line above the bars."""
        self._progress.console.print(text, soft_wrap=True, markup=False, highlight=False)

    def _task(self, sight: Sight) -> TaskID:
        if sight.job_id not in self._tasks:
            self._tasks[sight.job_id] = self._progress.add_task("", total=sight.total_steps, **_fields(sight))
        return self._tasks[sight.job_id]


def _fields(sight: Sight) -> dict[str, Any]:
    style = STATE_STYLES.get(sight.state, "default")
    return {
        "name": sight.name,
        "state": f"[{style}]{sight.state:9}[/]",
        "steps": f"{sight.step}/{sight.total_steps}" if sight.total_steps else "",
        "loss": "" if sight.loss is None else f"loss {sight.loss:.4f}",
        "remark": sight.remark,
    }


@dataclass(slots=True)
class _Said:
    """What was last printed of one job, and when."""

    state: str
    cause: str
    step: int
    at: float


class PlainBoard:
    """A line when a job's state or its reason changes, and every few seconds while it makes progress."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    def show(self, sights: Iterable[Sight]) -> None:
        """Print what is news."""
        now = time.monotonic()
        for sight in sights:
            said = self._said.get(sight.job_id)
            if said is None or _is_news(sight, said, now):
                self._said[sight.job_id] = _Said(sight.state, sight.cause, sight.step, now)
                typer.echo(_line(sight))

    def say(self, text: str) -> None:
        """Print a line."""
        typer.echo(text)


def _is_news(sight: Sight, said: _Said, now: float) -> bool:
    if (sight.state, sight.cause) != (said.state, said.cause):
        return True
    return sight.step != said.step and now - said.at >= PLAIN_EVERY_SECONDS


def _line(sight: Sight) -> str:
    parts = [sight.name, sight.state]
    if sight.step:
        parts.append(f"step {sight.step}/{sight.total_steps or '?'}")
    if sight.loss is not None:
        parts.append(f"loss {sight.loss:.4f}")
    return "  ".join([*parts, sight.remark] if sight.remark else parts)
