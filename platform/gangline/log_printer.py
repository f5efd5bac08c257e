"""Writes the logs of workers to a terminal or a file."""

from dataclasses import dataclass, field
from typing import TextIO

import typer


@dataclass(slots=True)
class PlainPrinter:
    """One rank's log, byte for byte as it comes."""

    stream: TextIO

    def text(self, rank: int, text: str) -> None:  # noqa: ARG002  # as `follow.Sink` has it
        """Write a piece at once, so that a progress line without an end is seen too."""
        self.stream.write(text)
        self.stream.flush()

    def note(self, text: str) -> None:
        """Remarks go to standard error: what is piped is the log alone."""
        typer.echo(f"--- {text} ---", err=True)

    def close(self) -> None:
        """Nothing is kept back."""


@dataclass(slots=True)
class RankPrinter:
    """Several ranks' logs, line by line, each line with its rank before it."""

    stream: TextIO
    _unfinished: dict[int, str] = field(default_factory=dict)

    def text(self, rank: int, text: str) -> None:
        """Write the lines that are complete; keep the beginning of the last one."""
        *lines, rest = (self._unfinished.get(rank, "") + text).split("\n")
        self._unfinished[rank] = rest
        self.stream.write("".join(f"[{rank}] {line}\n" for line in lines))
        self.stream.flush()

    def note(self, text: str) -> None:
        """Finish open lines, then remark on standard error."""
        self.close()
        typer.echo(f"--- {text} ---", err=True)

    def close(self) -> None:
        """Write the lines that never ended."""
        for rank, line in self._unfinished.items():
            if line:
                self.stream.write(f"[{rank}] {line}\n")
        self._unfinished.clear()
        self.stream.flush()
