"""How results look: a table for people, JSON, YAML or bare names for programs."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer
import yaml
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gangline.errors import CommandError
from gangline.units import plain
from gangline.words import say

Json = dict[str, Any]
STATE_STYLES = {
    "queued": "yellow",
    "held": "magenta",
    "starting": "cyan",
    "running": "blue",
    "stopping": "magenta",
    "succeeded": "green",
    "failed": "red",
    "cancelled": "bright_black",
    "ready": "green",
    "unreachable": "red",
    "removed": "bright_black",
}


class Format(StrEnum):
    """Forms of output, as `-o` names them."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


Output = Annotated[Format, typer.Option("-o", "--output", help="How to print the result.")]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its title, and the text of an item in it."""

    title: str
    text: Callable[[Json], object]
    right: bool = False


def console(*, stderr: bool = False) -> Console:
    """A console that never takes text for markup, and never cuts a cell when its output is not a terminal."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 4000
    return Console(
        file=stream, width=width, markup=False, emoji=False, highlight=False, soft_wrap=width is not None
    )


def emit(data: Any, *, output: Format, columns: Sequence[Column], name: Callable[[Json], object]) -> None:
    """Print one object (its columns below one another) or a list of them (a table)."""
    if output is Format.JSON:
        typer.echo(json.dumps(data, ensure_ascii=False, indent=2))
    elif output is Format.YAML:
        typer.echo(yaml.safe_dump(data, allow_unicode=True, sort_keys=False), nl=False)
    elif output is Format.NAME:
        for item in data if isinstance(data, list) else [data]:
            typer.echo(plain(name(item)))
    else:
        console().print(table(data, columns) if isinstance(data, list) else sheet(data, columns))


def table(rows: Sequence[Json], columns: Sequence[Column]) -> Table:
    """One line per item."""
    drawn = Table(box=box.SIMPLE_HEAD if sys.stdout.isatty() else None, pad_edge=False, show_edge=False)
    for column in columns:
        drawn.add_column(say(column.title), justify="right" if column.right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(cell(column.text(row)) for column in columns))
    return drawn


def sheet(item: Json, columns: Sequence[Column]) -> Table:
    """One line per column of a single item; empty ones are left out."""
    drawn = Table(box=None, show_header=False, pad_edge=False)
    drawn.add_column(style="bold")
    drawn.add_column(overflow="fold")
    for column in columns:
        value = column.text(item)
        if value not in (None, ""):
            drawn.add_row(say(column.title), cell(value))
    return drawn


def cell(value: object) -> Text:
    """A value as text that cannot move the cursor; states get their colour."""
    shown = plain(value)
    return Text(shown, style=STATE_STYLES.get(shown, ""))


def report(error: CommandError) -> None:
    """Tell what went wrong: code, message, where exactly, and what to do."""
    typer.echo(f"{error.code}: {plain(error.message)}", err=True)
    for detail in error.details:
        typer.echo(f"  {plain(detail.path) or '-'}: {plain(detail.problem)}", err=True)
    if error.todo:
        typer.echo(error.todo, err=True)
