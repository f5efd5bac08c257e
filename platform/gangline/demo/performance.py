"""The whole demo from start to end: platform, story, judgement, summary."""

import signal
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import typer

from gangline.board import open_board
from gangline.client import Portal
from gangline.config import Profile
from gangline.demo.cast import Cast, Player, read_cast
from gangline.demo.evidence import Record, read_record
from gangline.demo.local_platform import LocalPlatform
from gangline.demo.memory import MemoryPeak
from gangline.demo.scenario import Stage, Team, play
from gangline.demo.summary import COLUMNS, summary_rows
from gangline.demo.verdict import Finding, judge
from gangline.errors import ExitCode
from gangline.render import console, table
from gangline.units import duration, size
from gangline.words import say

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found, and the figures."""

    findings: tuple[Finding, ...]
    ready_seconds: float
    total_seconds: float
    peak_bytes: int

    @property
    def is_ok(self) -> bool:
        """Whether everything happened that should have."""
        return all(finding.holds for finding in self.findings)

    def line(self) -> str:
        """The verdict and the figures in one line."""
        return (
            f"demo: {'ok' if self.is_ok else 'failed'}  {len(self.findings)} checks, "
            f"{duration(self.total_seconds)} (platform ready after {duration(self.ready_seconds)}), "
            f"peak memory {size(self.peak_bytes)} (PSS)"
        )


def perform(*, leave_when_done: bool) -> ExitCode:
    """Run the demo in a folder of its own, which is removed at the end; returns the exit code."""
    signal.signal(signal.SIGTERM, _interrupt)  # so that the platform is stopped in order then too
    with (
        tempfile.TemporaryDirectory(prefix="gl-", ignore_cleanup_errors=True) as folder,
        LocalPlatform(Path(folder)) as platform,
    ):
        outcome = _run(platform)
        if not leave_when_done:
            _stay(platform, outcome)
        typer.echo(say("Stopping the platform..."))
    typer.echo(outcome.line())
    return ExitCode.DONE if outcome.is_ok else ExitCode.JOB_FAILED


def _run(platform: LocalPlatform) -> Outcome:
    started = time.monotonic()
    typer.echo(
        say("Starting the platform: PostgreSQL, Redis, portal, Celery, Ray with 4 nodes of 4 slots...")
    )
    with MemoryPeak(platform.pid, marker=str(platform.data_dir)) as memory:
        platform.wait_until_ready()
        ready = time.monotonic() - started
        cast = read_cast(platform.read("admin.json"), platform.read("demo.json"))
        _introduce(platform, cast, ready)
        records, findings = _play(platform, cast)
    _tell(records, findings)
    return Outcome(findings, ready, time.monotonic() - started, memory.bytes)


def _introduce(platform: LocalPlatform, cast: Cast, ready_seconds: float) -> None:
    typer.echo(say("Ready after {time}: {url}", time=duration(ready_seconds), url=platform.url))
    for who in (cast.team_a, cast.team_b):
        typer.echo(
            say(
                "  log in as {name}, password {secret}, queue {queue}",
                name=who.username,
                secret=who.password,
                queue=who.queue,
            )
        )
    typer.echo(
        say(
            "  log in as {name}, password {secret}, platform admin",
            name=cast.admin_name,
            secret=cast.admin_password,
        )
        + "\n"
    )


def _play(platform: LocalPlatform, cast: Cast) -> tuple[tuple[Record, ...], tuple[Finding, ...]]:
    with _portal(platform, cast.team_a) as portal_a, _portal(platform, cast.team_b) as portal_b:
        team_a, team_b = Team(cast.team_a.queue, portal_a), Team(cast.team_b.queue, portal_b)
        with open_board() as board:
            story = play(Stage(platform, board), team_a, team_b)
        first = read_record(portal_a, story.pretraining)
        second = read_record(portal_b, story.guaranteed)
        third = read_record(portal_a, story.urgent)
    return (first, second, third), judge(first, second, third, last_steps=story.last_steps)


def _portal(platform: LocalPlatform, player: Player) -> Portal:
    return Portal(Profile(platform.url, player.token), patience_seconds=PATIENCE_SECONDS)


def _tell(records: Sequence[Record], findings: Sequence[Finding]) -> None:
    typer.echo()
    console().print(table(summary_rows(records), COLUMNS))
    typer.echo()
    for finding in findings:
        typer.echo(f"  {'ok' if finding.holds else 'NO'}  {finding.claim}: {finding.seen}")


def _stay(platform: LocalPlatform, outcome: Outcome) -> None:
    typer.echo(f"\n{outcome.line()}\n")
    typer.echo(say("The portal stays up at {url} until you press Ctrl-C.", url=platform.url))
    try:
        while True:
            platform.check_alive()
            time.sleep(1)
    except KeyboardInterrupt:
        typer.echo()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
